// The default plan, which runs before anything is measured and which a tuned plan has to beat.
#pragma once

#include "runtime/session.h"
#include "tuner/model/recorded_plans.h"
#include "tuner/model/timetable.h"
#include "tuner/network/gate.h"

namespace fettle::tuner {

/// A session that has run, and its plan.
struct TriedPlan {
  std::shared_ptr<runtime::Session> session;
  std::shared_ptr<RecordedPlans> plans;
  runtime::TensorMap outputs;
  DefaultRun run;
};

/// Runs `model` on the default plans for `options`: once, or twice where a deadline allows it
/// (`deadline_ns`, of base/clock.h; 0: none). A lower precision may round values to 16 bits, which
/// is slower for some networks. Where that happens, or may happen beside the CPU, `exact`, the
/// result at high precision, runs beside that plan if there is time, and replaces it if it is
/// faster by `gate`. If `exact` has no session, the default plan of high precision is prepared. The
/// CPU's own default plan is compared in the same way where accelerators may compute but need not:
/// two devices must not be slower than one.
Result<TriedPlan> RunDefaultPlan(const std::shared_ptr<const runtime::Model>& model,
                                 const runtime::SessionOptions& options,
                                 const runtime::TensorMap& inputs, const GateOptions& gate,
                                 int64_t deadline_ns, TriedPlan exact = {});

}  // namespace fettle::tuner
