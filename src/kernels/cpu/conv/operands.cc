// compiled: small
#include "kernels/cpu/conv/operands.h"

#include <algorithm>

#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/microkernel.h"
#include "kernels/wanted_states.h"

namespace fettle::kernels {

Result<StateAssignment> ConvStates(const ir::Graph& group, const ConvOperands& operands) {
  if (operands.computed && operands.w == operands.x)
    return Unsupported("the input is its own weights");
  ASSIGN_OR_RETURN(StateAssignment states, ChannelsLastStates(group));
  if (operands.computed) states.inputs[IndexOf(group.inputs, operands.w)].layout = {};
  return states;
}

namespace {

bool IsReadTwice(const ir::Graph& group, ir::ValueId id) {
  int64_t reads = 0;
  for (const ir::Node& node : group.nodes())
    reads += std::count(node.inputs.begin(), node.inputs.end(), id);
  return reads > 1;
}

}  // namespace

Result<std::vector<StateAssignment>> StatesIn(
    const ir::Graph& group, ir::ValueId x, const StateAssignment& usual,
    const std::vector<ConvLayouts>& layouts,
    const std::function<Status(const StateAssignment& states)>& check) {
  const size_t input = IndexOf(group.inputs, x);
  const Layout last = Layout::ChannelsLast(group.value(x).shape->rank());
  std::vector<StateAssignment> all;
  Status failure = Unsupported("no layout suits");
  const int64_t channels = (*group.value(group.outputs[0]).shape)[1];
  for (const ConvLayouts& form : layouts) {
    if (form.x != form.y && IsReadTwice(group, x)) continue;
    StateAssignment states = usual;
    for (size_t i = 0; i < states.inputs.size(); ++i) {
      if (states.inputs[i].layout != last) continue;
      // What is broadcast along the channels has no blocks of them.
      const bool has_channels = (*group.value(group.inputs[i]).shape)[1] == channels;
      states.inputs[i].layout = has_channels || form.y == last ? form.y : Layout();
    }
    for (State& state : states.outputs) state.layout = form.y;
    states.inputs[input].layout = form.x;
    states.inputs[input].external = form.external;
    if (WantedStates::LeaveOut(states)) continue;
    if (Status checked = check(states); checked.ok()) {
      all.push_back(std::move(states));
    } else {
      failure = std::move(checked);
    }
  }
  if (all.empty()) return failure;
  return all;
}

Result<std::vector<StateAssignment>> ConvStatesIn(const ir::Graph& group,
                                                  const ConvOperands& operands,
                                                  const std::vector<ConvLayouts>& layouts) {
  ASSIGN_OR_RETURN(const StateAssignment usual, ConvStates(group, operands));
  return StatesIn(group, operands.x, usual, layouts, [&](const StateAssignment& states) {
    return Epilogue::Compile(group, states).status();
  });
}

Result<std::vector<StateAssignment>> RowMajorConvStates(const ir::Graph& group,
                                                        const ConvOperands& operands) {
  std::vector<ConvLayouts> layouts{{}};
  if (group.value(operands.x).dtype == DType::kF32)
    layouts.push_back({.x = {}, .y = {}, .external = true});
  return ConvStatesIn(group, operands, layouts);
}

Result<ConvPixels> ReadConvPixels(const Problem& problem, ir::ValueId x) {
  const size_t input = IndexOf(problem.group->inputs, x);
  ConvPixels pixels;
  ASSIGN_OR_RETURN(pixels.in, ReadPixels(problem.shape(x), problem.states.inputs[input].layout));
  ASSIGN_OR_RETURN(pixels.out, ReadPixels(problem.shape(problem.group->outputs[0]),
                                          problem.states.outputs[0].layout));
  return pixels;
}

Layout ChannelBlockLayout() {
  return Layout{.blocks = {{1, std::max(GetMicroKernels().nr / 2, 8)}}};
}

PackRequest RequestWeights(
    const ConvOperands& operands, std::string recipe, int64_t floats,
    std::function<void(const Constant& w, const Constant* b, float* out)> pack) {
  PackRequest request;
  request.constants = {operands.w};
  if (operands.b != ir::kAbsent) request.constants.push_back(operands.b);
  request.recipe = std::move(recipe) + (operands.b == ir::kAbsent ? "" : ".bias");
  request.bytes = floats * 4;
  request.pack = [pack = std::move(pack)](std::span<const Constant* const> constants,
                                          std::byte* out) {
    pack(*constants[0], constants.size() > 1 ? constants[1] : nullptr,
         reinterpret_cast<float*>(out));
    return OkStatus();
  };
  return request;
}

PackRequest RequestPanels(const ConvOperands& operands, std::string recipe,
                          const WeightShape& weights, int nr) {
  const int64_t padded = weights.panels(nr) * nr;
  const int64_t panel_floats = weights.groups * weights.group_elements(nr);
  return RequestWeights(
      operands, std::move(recipe), panel_floats + weights.groups * padded,
      [weights, nr, padded, panel_floats](const Constant& w, const Constant* b, float* out) {
        PackWeights(w, weights, nr, 1, out);
        for (int64_t g = 0; g < weights.groups; ++g)
          PackBias(b, g * weights.oc, weights.oc, padded, 1, out + panel_floats + g * padded);
      });
}

}  // namespace fettle::kernels
