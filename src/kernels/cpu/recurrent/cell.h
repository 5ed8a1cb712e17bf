// The element-wise part of recurrent cells with their usual activations (sigmoid gates, tanh).
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// `units` at a time; all pointers may have any alignment.
struct RecurrentCells {
  /// h = tanh(sum)
  void (*rnn)(int64_t units, const float* sum, float* h) = nullptr;
  /// Gates i o f c one after the other, `units` each: c = f * c + i * tanh(c'), h = o * tanh(c).
  void (*lstm)(int64_t units, const float* gates, float* c, float* h) = nullptr;
  /// Turns the sums of gates z and r (x part + state part, `units` each) into their sigmoids, in
  /// place of the x part.
  void (*gru_gates)(int64_t units, float* x_part, const float* state_part) = nullptr;
  /// out = r * h, where r follows z in `gates`.
  void (*gru_reset)(int64_t units, const float* gates, const float* h, float* out) = nullptr;
  /// h = (1 - z) * tanh(x + s) + z * h with gates z r and the candidate's x part in `gates` (three
  /// times `units`), s its state part, multiplied by r where `reset_state`.
  void (*gru_update)(int64_t units, const float* gates, const float* state_part, bool reset_state,
                     float* h) = nullptr;
};

/// Those of the best instruction set at hand.
const RecurrentCells& GetRecurrentCells();

}  // namespace fettle::kernels
