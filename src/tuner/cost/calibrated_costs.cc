#include "tuner/cost/calibrated_costs.h"

#include <algorithm>

#include "kernels/backend.h"

namespace fettle::tuner {
namespace {

/// Where the host takes longer to enqueue a step than the device to run it, the difference is lost
/// in a network of such steps, and hidden in one whose other steps keep the device busy for
/// longer. Costs add up, so they stand between the two. Where the driver replays launches, the host
/// enqueues a run at once.
double WithHost(double us, double host_us, const Device& device) {
  constexpr double kLost = 0.5;
  return device.replays_launches() ? us : us + kLost * std::max(host_us - us, 0.0);
}

}  // namespace

double CalibratedCosts::FactorOf(const planner::Kind& kind, const planner::Entry& entry,
                                 double alone_us) {
  const auto [it, is_new] = factors_.try_emplace({&entry, alone_us}, 1);
  if (is_new) {
    const Device& device = *devices_.Find(entry.kernel->device());
    const StepClass of = ClassOf(*entry.kernel, *kind.group, entry.states, entry.threads, device);
    it->second = calibrations_.Of(of, alone_us).factor;
  }
  return it->second;
}

/// 0 where it cannot be prepared, which measuring finds out.
int64_t CalibratedCosts::WorkspaceOf(const planner::Entry& entry, const kernels::Params& params) {
  const auto [it, is_new] = workspaces_.try_emplace({&entry, params}, 0);
  if (is_new) {
    const auto prepared = entry.match->Prepare({entry.states_index, entry.threads, params});
    if (prepared.ok()) it->second = (*prepared)->workspace_bytes();
  }
  return it->second;
}

planner::EntryCost CalibratedCosts::Kernel(const planner::Kind& kind, const planner::Entry& entry) {
  planner::EntryCost cost = alone_.Kernel(kind, entry);
  cost.alone_us = cost.us;
  const double factor = FactorOf(kind, entry, cost.alone_us);
  cost.us = WithHost(cost.us * factor, cost.host_us, *devices_.Find(entry.kernel->device()));
  cost.seen_us *= factor;
  if (cost.measured && !favoured_.empty() && !favoured_.contains(&entry)) cost.us *= kDoubt;
  if (!cost.measured && cost.banned.empty() && given_up_.contains(&entry))
    cost.banned = "the budget left no time to measure it";
  if (wants_workspaces_ && cost.banned.empty())
    cost.workspace =
        WorkspaceOf(entry, cost.proposal == nullptr ? entry.params : cost.proposal->params);
  return cost;
}

planner::EntryCost CalibratedCosts::Conversion(const Shape& shape, DType dtype, const State& from,
                                               const State& to, int threads) {
  planner::EntryCost cost = alone_.Conversion(shape, dtype, from, to, threads);
  const Device& device = *devices_.Find(kernels::ConversionDevice(from, to));
  const StepClass of = ClassOf(shape.rank(), from, to, threads, device);
  cost.alone_us = cost.us;
  const auto [it, is_new] = conversion_factors_.try_emplace({of.states, cost.alone_us}, 1);
  if (is_new) it->second = calibrations_.Of(of, cost.alone_us).factor;
  cost.us = WithHost(cost.us * it->second, cost.host_us, device);
  return cost;
}

}  // namespace fettle::tuner
