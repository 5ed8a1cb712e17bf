// Slots of states at launch (ops::SlotStep).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/kernel.h"
#include "ops/state/op.h"

namespace fettle::kernels {

inline ops::SlotStep SlotOf(const int32_t* steps, int64_t sequence) {
  const int32_t* step = steps + 3 * sequence;
  return {step[0], step[1], step[2]};
}

inline Status CheckSlots(const int32_t* steps, int64_t batch, int64_t slots, int64_t length) {
  for (int64_t n = 0; n < batch; ++n)
    RETURN_IF_ERROR(ops::CheckSlotStep(SlotOf(steps, n), slots, length));
  return OkStatus();
}

/// Copies all states where the new ones (may be null) are other memory.
inline void KeepSlots(const float* past, float* present, int64_t floats) {
  if (present != nullptr && present != past)
    std::memcpy(present, past, floats * static_cast<int64_t>(sizeof(float)));
}

/// Row-major, and the same with the caller's memory for operand `past` alone: all of it would be
/// copied to come from elsewhere.
inline std::vector<StateAssignment> SlotStates(const ir::Graph& group, size_t past) {
  StateAssignment states = RowMajorStates(group);
  std::vector<StateAssignment> listed = {states};
  const auto at = std::ranges::find(group.inputs, group.nodes()[0].input(past));
  if (at == group.inputs.end()) return listed;
  states.inputs[at - group.inputs.begin()].external = true;
  listed.push_back(std::move(states));
  return listed;
}

}  // namespace fettle::kernels
