#include "tuner/cost/step_costs.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/backend.h"
#include "tuner/cost/host_pace.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

/// Sets the time alone, and that of the host.
void SetMeasured(const RowKey& key, Store& store, StepCost& cost) {
  const Result<Row> row = FindTimes(key, store);
  if (!row.ok() || row->prior || row->status != Row::Status::kOk) return;
  cost.alone_us = row->median_us;
  cost.host_us = row->host_us;
}

}  // namespace

double RunUs(std::span<const StepCost> steps) {
  double us = 0, host_us = 0;
  for (const StepCost& step : steps) {
    us += step.us;
    // A device that is not told apart from the host keeps it for as long.
    host_us += step.host_us > 0 ? step.host_us : step.us;
  }
  return std::max(us, host_us);
}

int ProtocolOf(const kernels::KernelDesc& kernel, const ir::Graph& group, const Device& device,
               bool cold_constants) {
  if (!cold_constants || kernel.device() != DeviceKind::kCpu) return ProtocolOn(device);
  const bool any = std::any_of(group.values().begin(), group.values().end(),
                               [](const ir::Value& value) { return value.is_constant(); });
  return any ? kColdProtocol : kProtocol;
}

std::vector<StepCost> StepCostsOf(const exec::Plan& plan, const DeviceSet& devices, int threads,
                                  bool cold_constants, Store& store) {
  Calibrations calibrations(store);
  const HostPaces paces(store);
  std::vector<StepCost> costs;
  for (const exec::PlannedStep& step : plan.steps) {
    const Device& device = *devices.Find(DeviceOf(plan, step));
    StepCost& cost = costs.emplace_back();
    if (step.kernel != nullptr) {
      const kernels::Problem& problem = step.problem;
      RowKey key = KeyOf({step.kernel, problem, step.params}, device);
      key.protocol = ProtocolOf(*step.kernel, *problem.group, device, cold_constants);
      cost.of = ClassOf(*step.kernel, *problem.group, problem.states, problem.threads, device);
      cost.kernel = step.kernel->name;
      SetMeasured(key, store, cost);
      // Other parameters are another step, whose time alone is another one.
      cost.problem = fmt::format("{} with {}", key.problem, key.params);
    } else {
      cost.kernel = fmt::format("{}.convert", DeviceKindName(device.kind()));
      const exec::PlannedTensor& from = plan.tensors[step.inputs[0]];
      const State& to = plan.tensors[step.outputs[0]].state;
      cost.of = ClassOf(from.shape.rank(), from.state, to, threads, device);
      RowKey key = ConversionKey(from.shape, from.state, to, threads, device);
      SetMeasured(key, store, cost);
      cost.problem = std::move(key.problem);
    }
    cost.host_us = device.replays_launches() ? 0 : cost.host_us * paces.Of(device);
    const bool is_view =
        step.kernel != nullptr && step.match != nullptr && step.match->is_view(step.states_index);
    cost.known = is_view || cost.alone_us > 0;
    cost.us = cost.alone_us * calibrations.Of(cost.of, cost.alone_us, cost.problem).factor;
  }
  return costs;
}

}  // namespace fettle::tuner
