#include "kernels/cpu/recurrent/weights.h"

#include <algorithm>

#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

WeightShape ShapeOf(const ops::RecurrentAttributes& cell, int64_t depth) {
  return {.groups = int64_t{cell.directions} * cell.gates, .oc = cell.hidden, .ic = depth};
}

}  // namespace

RecurrentWeights::RecurrentWeights(const ops::RecurrentAttributes& cell, int nr)
    : cell_(cell),
      nr_(nr),
      input_(ShapeOf(cell, cell.input)),
      state_(ShapeOf(cell, cell.hidden)),
      padded_(RoundUp(cell.hidden, nr)) {}

PackRequest RecurrentWeights::Pack(const ir::Node& node) const {
  PackRequest request;
  request.constants = {node.input(kRecurrentW), node.input(kRecurrentR)};
  if (node.input(kRecurrentB) != ir::kAbsent) request.constants.push_back(node.input(kRecurrentB));
  request.recipe = fmt::format("{}.gates.nr{}.f32", node.op, nr_);
  request.bytes = (InputElements() + StateElements() + 2 * BiasElements()) * 4;
  request.pack = [*this](std::span<const Constant* const> constants, std::byte* out) {
    auto* panels = reinterpret_cast<float*>(out);
    PackWeights(*constants[0], input_, nr_, 1, panels);
    PackWeights(*constants[1], state_, nr_, 1, panels + InputElements());
    PackBiases(constants.size() > 2 ? constants[2] : nullptr,
               panels + InputElements() + StateElements());
    return OkStatus();
  };
  return request;
}

const float* RecurrentWeights::Input(const float* packed, int64_t direction, int64_t gate) const {
  return packed + (direction * cell_.gates + gate) * input_.group_elements(nr_);
}

const float* RecurrentWeights::State(const float* packed, int64_t direction, int64_t gate) const {
  return packed + InputElements() + (direction * cell_.gates + gate) * state_.group_elements(nr_);
}

const float* RecurrentWeights::InputBias(const float* packed, int64_t direction,
                                         int64_t gate) const {
  return packed + InputElements() + StateElements() + (direction * cell_.gates + gate) * padded_;
}

const float* RecurrentWeights::StateBias(const float* packed, int64_t direction,
                                         int64_t gate) const {
  return InputBias(packed, direction, gate) + BiasElements();
}

/// [input biases][state biases], each [direction][gate][padded].
void RecurrentWeights::PackBiases(const Constant* bias, float* out) const {
  const int64_t hidden = cell_.hidden, gates = cell_.gates;
  std::fill_n(out, 2 * BiasElements(), 0.0F);
  if (bias == nullptr) return;
  std::vector<float> state(hidden);
  for (int64_t d = 0; d < cell_.directions; ++d) {
    for (int64_t g = 0; g < gates; ++g) {
      float* input = out + (d * gates + g) * padded_;
      ReadFloats(*bias, (d * 2 * gates + g) * hidden, hidden, input);
      ReadFloats(*bias, (d * 2 * gates + gates + g) * hidden, hidden, state.data());
      if (cell_.kind == ops::RecurrentKind::kGru && g == 2) {
        std::copy(state.begin(), state.end(), input + BiasElements());
      } else {
        for (int64_t u = 0; u < hidden; ++u) input[u] += state[u];
      }
    }
  }
}

}  // namespace fettle::kernels
