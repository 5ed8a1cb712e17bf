// The element-wise part of recurrent cells with their usual activations (sigmoid gates, tanh).
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::kernels {

/// Sums of products of integers: rows of up to a panel of columns.
struct GateSums {
  int64_t rows = 0, columns = 0;
  /// The sums are 256 * (high - excess) + low; without `low` they are those of `high`. Rows lie
  /// `stride` apart.
  const int32_t *high = nullptr, *low = nullptr;
  int64_t stride = 0;
  const float *row_steps = nullptr, *steps = nullptr;  // what one is, the product of both
  const int32_t* excess = nullptr;                     // of each column, as its step
  const float* bias = nullptr;                         // null: results are added to what is there
};

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
  /// Writes x as whole steps up to `limit` <= 32767, and returns the step: as i16 to `high`, or
  /// where there is `low` as u8 to both, 256 * (high - 128) + low. Up to a vector behind is
  /// written.
  float (*round)(const float* x, int64_t n, float limit, std::byte* high, std::byte* low) = nullptr;
  /// out (+)= sums times their steps, rows `stride` apart.
  void (*add_sums)(const GateSums& sums, float* out, int64_t stride) = nullptr;
};

/// Those of the best instruction set at hand.
const RecurrentCells& GetRecurrentCells();

}  // namespace fettle::kernels
