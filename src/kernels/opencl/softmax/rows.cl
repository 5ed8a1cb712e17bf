// Softmax or its logarithm over rows of [outer, row, inner] (rows.clh), row-major buffers of the
// storage type (access.clh).
//   is_log       1: the logarithm
//   nan_to_zero  1: rows that would be NaN are 0
#include "kernels/opencl/access.clh"
#include "kernels/opencl/rows.clh"

__kernel void rows(__global const storage_t* restrict x, const int x_offset,
                   __global storage_t* restrict y, const int y_offset, const int is_log,
                   const int nan_to_zero, const int count, const int row, const int inner) {
  DECLARE_ROW_SCRATCH
  const int index = ROW_INDEX(count);
  RETURN_BEYOND(count)
  const int first = index / inner * row * inner + index % inner;
  __global const storage_t* from = x + x_offset + first;
  __global storage_t* to = y + y_offset + first;
  float largest = -INFINITY;
  for (int i = ROW_LANE; i < row; i += ROW_ITEMS) {
    const float e = LOAD(from, i * inner);
    largest = e > largest || isnan(e) ? e : largest;
  }
  largest = JOIN_MAX(largest);
  float sum = 0.0f;
  for (int i = ROW_LANE; i < row; i += ROW_ITEMS) sum += exp(LOAD(from, i * inner) - largest);
  sum = JOIN_SUM(sum);
  const float log_sum = log(sum);
  for (int i = ROW_LANE; i < row; i += ROW_ITEMS) {
    const float e = LOAD(from, i * inner) - largest;
    STORE(is_log ? e - log_sum : nan_to_zero && isnan(sum) ? 0.0f : exp(e) / sum, to, i * inner);
  }
}
