// Whose plans run and bench use: a package's, those of a tuning on the spot, what the database has
// learned, or preferences.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jobs/tuning.h"
#include "planner/plan_source.h"
#include "tuner/model/kept_plans.h"
#include "tuner/model/recorded_plans.h"

namespace fettle::tools {

/// The plans of a package, and how well they fitted. Thread-safe.
class PackagePlans final : public planner::PlanSource {
 public:
  explicit PackagePlans(std::shared_ptr<const planner::PlanBook> book);
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override;
  /// "package" where every plan so far was made for its very shapes, device and threads, "regime"
  /// where one lies in a range that was tuned, "similar" where one was made for other shapes,
  /// "preferences" where one was not there at all.
  std::string origin() const;
  /// What `warnings[]` of a document says of settings that the package was not tuned for: one text,
  /// or none. The log has said it.
  std::vector<std::string> warnings() const;
  /// Whether the package has plans for a range of shapes.
  bool has_range() const { return has_range_; }
  const planner::PlanBook& book() const { return *book_; }

 private:
  std::shared_ptr<const planner::PlanBook> book_;
  std::shared_ptr<planner::PlanSource> plans_;
  std::atomic<int> similar_{0}, in_range_{0}, unknown_{0};
  std::atomic<bool> has_range_{false};
  mutable std::mutex mutex_;
  std::string missed_;  // guarded by mutex_
};

struct ChosenPlans {
  /// What was measured; null: nobody asked for a database that is there.
  std::shared_ptr<tuner::Store> store;
  /// Null: preferences.
  std::shared_ptr<planner::PlanSource> source;
  /// Not null where the database is asked; says after a run whether it had something.
  std::shared_ptr<const tuner::LearnedPlans> learned;
  /// Not null where the model is a package and nothing was tuned on the spot.
  std::shared_ptr<const PackagePlans> package;
  double predicted_ms = 0;
  int64_t measurements = 0;
  /// What the tuning on the spot did; empty: there was none. It may have kept the default plan.
  std::string tuning;
  bool default_kept = false;
};

/// --layout-transform and --fast-run tune first, and write the package where that is asked for;
/// otherwise the database of the user is read if there is one.
Result<ChosenPlans> ChoosePlans(const Job& job, const JobOptions& options,
                                const LoadAndRunFlags& flags);

/// What the store predicts of the steps of a run: in the network, and alone. Empty `steps`: it does
/// not know some of them. Milliseconds.
struct Prediction {
  double predicted_ms = 0, alone_ms = 0;
  std::vector<tuner::StepCost> steps;
};
Prediction Predict(const Job& job, const ChosenPlans& plans, const tuner::RecordedPlans& recorded,
                   const std::vector<exec::StepProfile>& run);

/// The warnings of the job and those of its package's plans.
std::vector<std::string> WarningsOf(const Job& job, const ChosenPlans& plans);

/// Where the plans came from, once they were made:
/// package|regime|similar|tuned|database|preferences.
std::string OriginOf(const ChosenPlans& plans);

/// "predicted_ms", "alone_ms", "measurements" and "plan"
/// (package|regime|similar|tuned|database|preferences) and "warnings" of the JSON. Nothing is
/// predicted for shapes that a package was not tuned for.
void AddPlanFields(const Job& job, const ChosenPlans& plans, const Prediction& prediction,
                   Json& document);

}  // namespace fettle::tools
