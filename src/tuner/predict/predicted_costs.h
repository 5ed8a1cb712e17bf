// Costs from a model of other devices, where nobody has measured on this one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "planner/cost_source.h"
#include "planner/decision.h"
#include "tuner/cost/learned_costs.h"
#include "tuner/predict/time_model.h"

namespace fettle::tuner {

/// The cost of `known` where it is measured or banned; otherwise times of the model. Entries that
/// are not in the default plan cost more, by the error of predictions: a plan of many guesses must
/// gain more than one of them may be wrong. Entries that no device with such instructions has
/// measured are banned unless the default plan has them. Entries must stay where they are. Not
/// synchronised.
class PredictedCosts final : public planner::CostSource {
 public:
  PredictedCosts(planner::CostSource& known, LearnedCosts& learned, TimeModel model)
      : known_(known), learned_(learned), model_(std::move(model)) {}

  /// The entries of the default plan of a session of `threads`.
  void Favour(const planner::Catalogue& catalogue, const planner::Decision& preferred, int threads);

  planner::EntryCost Kernel(const planner::Kind& kind, const planner::Entry& entry) override;
  planner::EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                                int threads) override;

  const TimeModel& model() const { return model_; }
  /// "predicted from 1234 rows of 3 devices", or why the prediction is weak.
  std::string Text() const;

 private:
  const PredictedTime& PredictedOf(const planner::Kind& kind, const planner::Entry& entry);

  planner::CostSource& known_;
  LearnedCosts& learned_;
  TimeModel model_;
  std::unordered_set<const planner::Entry*> favoured_;
  /// Whether a device with the same instructions measured any kernel of the default plan.
  bool alike_ = false;
  std::unordered_map<const planner::Entry*, PredictedTime> predicted_;
};

/// The model that the store of `learned` keeps, where the store has no time for what was asked so
/// far, of this build or another; nothing otherwise.
std::optional<TimeModel> ModelForUnseen(LearnedCosts& learned);

}  // namespace fettle::tuner
