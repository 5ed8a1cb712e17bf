#include "kernels/opencl/binary/bit_states.h"

namespace fettle::kernels {

State FloatsBeside(const Problem& problem, bool in_pixels, const Device& device) {
  const auto is_form = [&](const State& state) {
    return IsFloatValue(state.storage) && IsPixels(state) == in_pixels;
  };
  for (const State& state : problem.states.outputs)
    if (is_form(state)) return state;
  for (const State& state : problem.states.inputs)
    if (is_form(state)) return state;
  return in_pixels ? PixelStates(device)[0] : RowStates()[0];
}

Result<Expression> CompileBitTail(const ir::Graph& group, const BitTail& tail,
                                  StateAssignment states, const State& like) {
  ir::Graph chain = group;
  chain.outputs = {tail.floats};
  if (tail.packed != tail.floats) chain.outputs.push_back(tail.packed);
  const ir::Value& floats = group.value(tail.floats);
  states.outputs = {StateBeside(floats, like, floats.shape->rank())};
  return Expression::Compile(chain, states, tail.anchor);
}

cl_int4 PackingArg(const ops::BitPacking& packing) {
  return Int4(LowerKey(static_cast<float>(packing.low)), UpperKey(static_cast<float>(packing.high)),
              packing.invert ? -1 : 0, 0);
}

}  // namespace fettle::kernels
