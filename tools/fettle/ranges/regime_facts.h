// Which regime of a tuned range a shape falls into, for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "jobs/plans.h"
#include "runtime/session.h"

namespace fettle::tools {

struct RegimeFacts {
  int regime = 0, regimes = 0;  // from 1
  bool inside = true;           // of the range
  std::string tuned_at, sizes;  // "x 1x3x32x32", "x 1x3x32x32 to 1x3x64x64"

  /// "regime 2 of 3 (x 1x3x91x91 to 1x3x640x640), whose plan was tuned at x 1x3x143x143".
  std::string Text() const;
  Json ToJson() const;
};

/// Of the first of `segments` that a range was tuned for, by the plans that are in use; none where
/// they are of no range.
std::optional<RegimeFacts> FindRegime(const ChosenPlans& plans,
                                      const std::vector<ir::Graph>& segments,
                                      const runtime::Session& session);

}  // namespace fettle::tools
