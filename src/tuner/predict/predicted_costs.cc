#include "tuner/predict/predicted_costs.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "kernels/backend.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

/// Times how far predictions are off in the median, what an entry beside the default plan's must
/// gain.
constexpr double kDoubtOfSpread = 2;

double DoubtOf(const PredictedTime& predicted) {
  return std::exp(kDoubtOfSpread * predicted.spread);
}

}  // namespace

void PredictedCosts::Favour(const planner::Catalogue& catalogue, const planner::Decision& preferred,
                            int threads) {
  std::map<std::vector<ir::NodeId>, const planner::GroupDecision*> decided;
  for (const planner::GroupDecision& group : preferred.groups) decided.emplace(group.nodes, &group);
  for (const planner::Instance& instance : catalogue.instances) {
    const auto found = decided.find(instance.nodes);
    if (found == decided.end()) continue;
    const planner::GroupDecision& group = *found->second;
    const planner::Kind& kind = catalogue.kinds[instance.kind];
    for (const planner::Entry& entry : kind.entries) {
      if (entry.kernel->name == group.kernel && entry.states == group.states &&
          entry.threads == (group.threads == 0 ? threads : group.threads)) {
        favoured_.insert(&entry);
        alike_ = alike_ || PredictedOf(kind, entry).alike;
      }
    }
  }
}

const PredictedTime& PredictedCosts::PredictedOf(const planner::Kind& kind,
                                                 const planner::Entry& entry) {
  const auto [at, is_new] = predicted_.try_emplace(&entry);
  if (!is_new) return at->second;
  const RowKey key = learned_.KernelKey(kind, entry, entry.params);
  const StepFacts facts = FactsOf(*entry.kernel, kind.problem(entry), key.problem,
                                  key.protocol == kColdProtocol, key.device);
  const double bound = learned_.Bound(facts.work, facts.device, facts.threads);
  at->second = model_.Predict(facts, bound).value_or(PredictedTime{.us = bound});
  // What the kernel makes of the group may be more than what the operators say.
  at->second.us = std::max(at->second.us, learned_.KernelBound(kind, entry));
  return at->second;
}

planner::EntryCost PredictedCosts::Kernel(const planner::Kind& kind, const planner::Entry& entry) {
  planner::EntryCost cost = known_.Kernel(kind, entry);
  if (cost.measured || !cost.banned.empty()) return cost;
  const PredictedTime& predicted = PredictedOf(kind, entry);
  const bool is_default = favoured_.contains(&entry);
  if (!predicted.alike && !is_default)
    cost.banned = "no device with such instructions has measured it";
  cost.alone_us = predicted.us;
  cost.us = predicted.us * predicted.in_network * (is_default ? 1 : DoubtOf(predicted));
  cost.predicted = predicted.rows;
  return cost;
}

planner::EntryCost PredictedCosts::Conversion(const Shape& shape, DType dtype, const State& from,
                                              const State& to, int threads) {
  planner::EntryCost cost = known_.Conversion(shape, dtype, from, to, threads);
  if (cost.measured || !cost.banned.empty()) return cost;
  const Device& device = learned_.DeviceOf(kernels::ConversionDevice(from, to));
  const StepFacts facts = FactsOfConversion(shape, from, to, threads, device.fingerprint());
  const double bound = learned_.Bound(facts.work, facts.device, facts.threads);
  const auto predicted = model_.Predict(facts, bound);
  if (!predicted) return cost;
  cost.alone_us = predicted->us;
  cost.us = predicted->us * predicted->in_network;
  cost.predicted = predicted->rows;
  return cost;
}

std::string PredictedCosts::Text() const {
  int64_t rows = 0;
  for (const auto& [key, leaf] : model_.leaves())
    if (key.starts_with("device ") && key.find(' ', 7) == std::string::npos) rows += leaf.rows;
  return fmt::format("predicted from {} row{} of {} device{}{}", rows, rows == 1 ? "" : "s",
                     model_.devices().size(), model_.devices().size() == 1 ? "" : "s",
                     alike_ ? "" : ", none with such instructions");
}

std::optional<TimeModel> ModelForUnseen(LearnedCosts& learned) {
  if (learned.known() > 0 || learned.priors() > 0) return std::nullopt;
  Result<TimeModel> model = FindTimeModel(learned.store());
  if (model.ok()) return *std::move(model);
  if (model.status().code() != StatusCode::kNotFound)
    Log(LogLevel::kWarn, "{}: planning without them; `fettle db train` makes them anew",
        model.status().message());
  return std::nullopt;
}

}  // namespace fettle::tuner
