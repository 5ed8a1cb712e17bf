// Steps of operators that carry a state: columns of a recurrence, rows of a convolution.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Columns of a state [size, columns], and what the rows of a sequence bring for them. Rows are
/// `*_row` floats apart.
struct ScanColumns {
  int64_t size = 0, columns = 0, rows = 0;
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  int64_t key_row = 0, value_row = 0;  // of q and k, of v and y
  /// Where no `rates`: what a state's row is multiplied by before a step, e^g, for row t and key
  /// element d at t * factor_row + d * factor_step.
  const float* factors = nullptr;
  int64_t factor_row = 0, factor_step = 0;
  /// The state decays by e^(times * rates): times as v, rates [size, columns] `rates_row` apart.
  const float *times = nullptr, *rates = nullptr;
  int64_t rates_row = 0;
  /// Of the delta rule, `beta_row` apart; null: there is none.
  const float* beta = nullptr;
  int64_t beta_row = 0;
  float scale = 1;
  /// Null `from`: zeros. `to` may be `from`.
  const float* from = nullptr;
  float* to = nullptr;
  int64_t state_row = 0;
  float* y = nullptr;
};

/// At least one row.
void RunScan(const ScanColumns& columns);

/// One channel's taps are `channels` floats apart: y[t] = act(bias + sum of w[k] * x[t + k]), for
/// rows of `channels` floats. Rows before the first `taps - 1` of x are those of `before`, which
/// may be null: zeros.
struct ConvRows {
  int64_t channels = 0, taps = 0, rows = 0;
  const float *x = nullptr, *w = nullptr, *bias = nullptr, *before = nullptr;
  bool silu = false;
  float* y = nullptr;
};
void RunConvRows(const ConvRows& rows);

}  // namespace fettle::kernels
