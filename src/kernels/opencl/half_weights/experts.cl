// Rows times the weights of the experts that they choose: w [experts][n][k], floats, or halves with HALVES 1.
// Work-items: expert_choices.clh.
#include "kernels/opencl/expert_choices.clh"
#ifndef HALVES
#define HALVES 1
#endif
#if HALVES
typedef half weight_t;
#define WEIGHT(at) vload_half(at, w)
#else
typedef float weight_t;
#define WEIGHT(at) w[at]
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void experts(
    __global const float* restrict x, const int x_offset, __global const weight_t* restrict w,
    const int w_offset CHOSEN_PARAMS COUNT_PARAMS, __global float* restrict y, const int y_offset, const int n,
    const int k) {
  const int item = get_local_id(0), lane = item % LANES, at = get_global_id(1);
  const int column = get_global_id(0) / LANES;
  float total = 0.0f;
  for (int choice = at * EACH_CHOICES; choice < (at + 1) * EACH_CHOICES; ++choice) {
    const int weights = w_offset + (EXPERT_OF(choice) * n + min(column, n - 1)) * k;
    const int row = x_offset + ROW_OF(choice) * k;
    float sum = 0.0f;
    for (int i = lane; i < k; i += LANES) sum = fma(x[row + i], WEIGHT(weights + i), sum);
    total += COUNT_OF(choice) * sum;
  }
  STORE_LANES(total)
}
