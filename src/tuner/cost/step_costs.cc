#include "tuner/cost/step_costs.h"

#include <algorithm>

#include "kernels/backend.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

double MeasuredUs(const RowKey& key, Store& store) {
  const Result<Row> row = store.Find(key);
  return row.ok() && !row->prior && row->status == Row::Status::kOk ? row->median_us : 0;
}

}  // namespace

int ProtocolOf(const kernels::KernelDesc& kernel, const ir::Graph& group, bool cold_constants) {
  if (!cold_constants || kernel.device() != DeviceKind::kCpu) return kProtocol;
  const bool any = std::any_of(group.values().begin(), group.values().end(),
                               [](const ir::Value& value) { return value.is_constant(); });
  return any ? kColdProtocol : kProtocol;
}

std::vector<StepCost> StepCostsOf(const exec::Plan& plan, const DeviceSet& devices, int threads,
                                  bool cold_constants, Store& store) {
  Calibrations calibrations(store);
  std::vector<StepCost> costs;
  for (const exec::PlannedStep& step : plan.steps) {
    const Device& device = *devices.Find(DeviceOf(plan, step));
    StepCost& cost = costs.emplace_back();
    if (step.kernel != nullptr) {
      const kernels::Problem& problem = step.problem;
      RowKey key = KeyOf({step.kernel, problem, step.params}, device);
      key.protocol = ProtocolOf(*step.kernel, *problem.group, cold_constants);
      cost.of = ClassOf(*step.kernel, *problem.group, problem.states, problem.threads, device);
      cost.kernel = step.kernel->name;
      cost.alone_us = MeasuredUs(key, store);
    } else {
      cost.kernel = "cpu.convert";
      const exec::PlannedTensor& from = plan.tensors[step.inputs[0]];
      const State& to = plan.tensors[step.outputs[0]].state;
      cost.of = ClassOf(from.shape.rank(), from.state, to, threads, device);
      cost.alone_us = MeasuredUs(ConversionKey(from.shape, from.state, to, threads, device), store);
    }
    const bool is_view =
        step.kernel != nullptr && step.match != nullptr && step.match->is_view(step.states_index);
    cost.known = is_view || cost.alone_us > 0;
    cost.us = cost.alone_us * calibrations.Of(cost.of).factor;
  }
  return costs;
}

}  // namespace fettle::tuner
