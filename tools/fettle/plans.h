// Whose plans run and bench use: a package's, those of a tuning on the spot, what the database has
// learned, or preferences.
#pragma once

#include <memory>
#include <string>

#include "tuning.h"

namespace fettle::tools {

struct ChosenPlans {
  /// Null: the model's own.
  std::shared_ptr<planner::PlanSource> source;
  /// Not null where the database is asked; says after a run whether it had something.
  std::shared_ptr<const runtime::LearnedPlans> learned;
  double predicted_ms = 0;
  int64_t measurements = 0;
  /// What the tuning on the spot did; empty: there was none.
  std::string tuning;
};

/// --layout-transform and --fast-run tune first, and write the package where that is asked for;
/// otherwise the database of the user is read if there is one.
Result<ChosenPlans> ChoosePlans(const Job& job, const JobOptions& options,
                                const LoadAndRunFlags& flags);

/// "predicted_ms", "measurements" and "plan" (package|tuned|database|preferences) of the JSON.
void AddPlanFields(const Job& job, const ChosenPlans& plans, Json& document);

}  // namespace fettle::tools
