// compiled: small
#include "kernels/cpu/recurrent/weights.h"

#include <algorithm>

#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

using ops::RecurrentKind;

int64_t GatesTogether(const ops::RecurrentAttributes& cell) {
  return cell.kind == RecurrentKind::kGru && !cell.linear_before_reset ? 1 : cell.gates;
}

}  // namespace

RecurrentWeights::RecurrentWeights(const ops::RecurrentAttributes& cell, int nr)
    : cell_(cell),
      nr_(nr),
      together_(GatesTogether(cell)),
      input_{.groups = cell.directions, .oc = cell.gates * cell.hidden, .ic = cell.input},
      state_{.groups = cell.directions * cell.gates / together_,
             .oc = together_ * cell.hidden,
             .ic = cell.hidden} {}

PackRequest RecurrentWeights::Pack(const ir::Node& node) const {
  PackRequest request;
  request.constants = {node.input(kRecurrentW), node.input(kRecurrentR)};
  if (node.input(kRecurrentB) != ir::kAbsent) request.constants.push_back(node.input(kRecurrentB));
  request.recipe = fmt::format("{}.gates.nr{}.joined.f32", node.op, nr_);
  request.bytes = (InputElements() + StateElements() + BiasElements()) * 4;
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

const float* RecurrentWeights::Input(const float* packed, int64_t direction) const {
  return packed + direction * input_.group_elements(nr_);
}

const float* RecurrentWeights::State(const float* packed, int64_t direction, int64_t gate) const {
  const int64_t group = (direction * cell_.gates + gate) / together_;
  return packed + InputElements() + group * state_.group_elements(nr_);
}

const float* RecurrentWeights::InputBias(const float* packed, int64_t direction) const {
  return packed + InputElements() + StateElements() + direction * InputPadded();
}

const float* RecurrentWeights::StateBias(const float* packed, int64_t direction,
                                         int64_t gate) const {
  const int64_t group = (direction * cell_.gates + gate) / together_;
  return InputBias(packed, input_.groups) + group * StatePadded();
}

/// [input biases][state biases], each [product][gate], padded.
void RecurrentWeights::PackBiases(const Constant* bias, float* out) const {
  const int64_t hidden = cell_.hidden, gates = cell_.gates;
  std::fill_n(out, BiasElements(), 0.0F);
  if (bias == nullptr) return;
  float* const states = out + input_.groups * InputPadded();
  std::vector<float> state(hidden);
  for (int64_t d = 0; d < cell_.directions; ++d) {
    for (int64_t g = 0; g < gates; ++g) {
      float* input = out + d * InputPadded() + g * hidden;
      ReadFloats(*bias, (d * 2 * gates + g) * hidden, hidden, input);
      ReadFloats(*bias, (d * 2 * gates + gates + g) * hidden, hidden, state.data());
      if (cell_.kind == RecurrentKind::kGru && g == 2) {
        const int64_t group = (d * gates + g) / together_;
        std::copy(state.begin(), state.end(),
                  states + group * StatePadded() + g % together_ * hidden);
      } else {
        for (int64_t u = 0; u < hidden; ++u) input[u] += state[u];
      }
    }
  }
}

}  // namespace fettle::kernels
