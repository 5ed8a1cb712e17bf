#include "exec/bind_plan.h"

#include <algorithm>

#include "kernels/backend.h"

namespace fettle::exec {
namespace {

class Binder {
 public:
  explicit Binder(Plan plan) : plan_(std::move(plan)) {}

  Status BindInput(size_t input, const State& state) {
    const int host = plan_.inputs[input];
    const int bound = AddTensor(host, state);
    plan_.inputs[input] = bound;
    // Conversions of the input start from the bound state, or become it.
    for (size_t i = plan_.steps.size(); i-- > 0;) {
      PlannedStep& step = plan_.steps[i];
      if (step.kernel != nullptr || step.inputs[0] != host) continue;
      step.inputs[0] = bound;
      PlannedTensor& to = Tensor(step.outputs[0]);
      if (to.state != state) continue;
      to.same_bytes_as = bound;
      Erase(i);
    }
    for (const PlannedStep& step : plan_.steps) {
      if (step.kernel == nullptr && step.inputs[0] == bound)
        RETURN_IF_ERROR(CheckConversion(bound, step.outputs[0]));
    }
    if (!IsUsed(host)) return OkStatus();
    RETURN_IF_ERROR(CheckConversion(bound, host));
    plan_.steps.insert(plan_.steps.begin(), Conversion(bound, host));
    for (StepChain& chain : plan_.chains) {
      ++chain.begin;
      ++chain.end;
    }
    return OkStatus();
  }

  Status BindOutput(size_t output, const State& state, bool copied) {
    if (plan_.outputs[output] < 0) return Unsupported("an output that is a constant");
    const int from = TakeSource(output);
    if (Tensor(from).state == state && !copied) {
      plan_.outputs[output] = from;
      return OkStatus();
    }
    const int bound = AddTensor(from, state);
    RETURN_IF_ERROR(CheckConversion(from, bound));
    plan_.steps.push_back(Conversion(from, bound));
    plan_.outputs[output] = bound;
    return OkStatus();
  }

  /// After all inputs and outputs.
  Status AddCopy(const BoundCopy& copy) {
    const int from = copy.of == BoundCopy::Of::kInput    ? plan_.inputs[copy.index]
                     : copy.of == BoundCopy::Of::kOutput ? plan_.outputs[copy.index]
                                                         : AddConstant(copy);
    if (from < 0) return Unsupported("a copy of an output that is a constant");
    const int to = AddTensor(from, copy.state);
    RETURN_IF_ERROR(CheckConversion(from, to));
    plan_.steps.push_back(Conversion(from, to));
    plan_.outputs.push_back(to);
    return OkStatus();
  }

  Plan Take() {
    std::erase_if(plan_.chains, [&](const StepChain& chain) {
      bool may = chain.end - chain.begin >= 2;
      for (int i = chain.begin; may && i < chain.end; ++i) may = MayChain(plan_, i);
      return !may;
    });
    return std::move(plan_);
  }

 private:
  PlannedTensor& Tensor(int tensor) { return plan_.tensors[tensor]; }

  /// Chains count steps.
  void Erase(size_t step) {
    plan_.steps.erase(plan_.steps.begin() + static_cast<std::ptrdiff_t>(step));
    for (StepChain& chain : plan_.chains) {
      chain.begin -= static_cast<int>(step) < chain.begin ? 1 : 0;
      chain.end -= static_cast<int>(step) < chain.end ? 1 : 0;
    }
  }

  int AddTensor(int like, const State& state) {
    PlannedTensor tensor = Tensor(like);
    tensor.state = state;
    tensor.same_bytes_as = -1;
    plan_.tensors.push_back(std::move(tensor));
    return static_cast<int>(plan_.tensors.size()) - 1;
  }

  int AddConstant(const BoundCopy& copy) {
    const State state{.device = copy.state.device,
                      .memory = MemoryKind::kBuffer,
                      .layout = {},
                      .storage = copy.dtype};
    plan_.tensors.push_back({.name = "constant", .shape = copy.shape, .state = state});
    plan_.inputs.push_back(static_cast<int>(plan_.tensors.size()) - 1);
    return plan_.inputs.back();
  }

  static PlannedStep Conversion(int from, int to) {
    PlannedStep step;
    step.inputs = {from};
    step.outputs = {to};
    return step;
  }

  Status CheckConversion(int from, int to) {
    return kernels::CheckConversion(Tensor(from).shape, Tensor(from).state, Tensor(to).state);
  }

  /// Whether anything reads `tensor`, under whatever name.
  bool IsUsed(int tensor) const {
    const auto reads = [&](const PlannedStep& step) {
      return std::find(step.inputs.begin(), step.inputs.end(), tensor) != step.inputs.end();
    };
    return std::any_of(plan_.steps.begin(), plan_.steps.end(), reads) ||
           std::find(plan_.outputs.begin(), plan_.outputs.end(), tensor) != plan_.outputs.end() ||
           std::any_of(plan_.tensors.begin(), plan_.tensors.end(),
                       [&](const PlannedTensor& other) { return other.same_bytes_as == tensor; });
  }

  /// The tensor of an output. Where a conversion copies it from the device for this output alone,
  /// the conversion is removed and its source is the tensor.
  int TakeSource(size_t output) {
    const int host = plan_.outputs[output];
    const auto producer = std::find_if(
        plan_.steps.begin(), plan_.steps.end(),
        [&](const PlannedStep& step) { return step.kernel == nullptr && step.outputs[0] == host; });
    if (producer == plan_.steps.end()) return host;
    plan_.outputs[output] = -1;
    const bool wanted = IsUsed(host);
    plan_.outputs[output] = host;
    if (wanted) return host;
    const int source = producer->inputs[0];
    Erase(producer - plan_.steps.begin());
    return source;
  }

  Plan plan_;
};

}  // namespace

Result<Plan> BindPlan(Plan plan, const BoundStates& bound) {
  Binder binder(std::move(plan));
  for (size_t i = 0; i < bound.inputs.size(); ++i)
    if (bound.inputs[i]) RETURN_IF_ERROR(binder.BindInput(i, *bound.inputs[i]));
  for (size_t i = 0; i < bound.outputs.size(); ++i)
    if (bound.outputs[i]) RETURN_IF_ERROR(binder.BindOutput(i, *bound.outputs[i], bound.copied[i]));
  for (const BoundCopy& copy : bound.copies) RETURN_IF_ERROR(binder.AddCopy(copy));
  return binder.Take();
}

}  // namespace fettle::exec
