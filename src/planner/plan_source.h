// Who makes the plans of a session's segments.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/device.h"
#include "exec/plan.h"
#include "planner/choices.h"
#include "planner/plan_book.h"

namespace fettle::planner {

/// Thread-safe.
class PlanSource {
 public:
  virtual ~PlanSource() = default;
  /// A plan for `segment`, all of whose values have concrete shapes.
  virtual Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                                     const Limits& limits) = 0;
  /// Whether the kernels chosen for a segment may also compute a segment that is near it, without a
  /// new plan.
  virtual bool CarriesOver(const DeviceSet& /*devices*/, const Limits& /*limits*/) const {
    return false;
  }
};

/// What the kernels' preferences say (PreferredDecision).
std::shared_ptr<PlanSource> PreferredPlans();

/// The decisions of `book`. A graph of other extents starts on the plan of a similar one, with one
/// warning in the log. Without such a plan, or where it does not fit this build, the decisions of
/// `others`. One more warning names the settings (MissedSettings) with which there would be a plan.
std::shared_ptr<PlanSource> PlansOf(std::shared_ptr<const PlanBook> book,
                                    std::shared_ptr<PlanSource> others = PreferredPlans());

/// "x 1x3x32x320, y 4": the inputs of `segment`.
std::string InputShapes(const ir::Graph& segment);

/// The warning of PlansOf for what MissedSettings says.
std::string MissedText(std::string_view settings);

}  // namespace fettle::planner
