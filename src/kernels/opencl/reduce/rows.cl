// Folds rows of [outer, row, inner] (rows.clh) to [outer, inner], row-major buffers of the storage
// type (access.clh).
//   kind    0 sum, 1 sum of magnitudes, 2 sum of squares, 3 product, 4 maximum, 5 minimum
//   finish  0 nothing, 1 divide by the row's length, 2 square root, 3 logarithm
#include "kernels/opencl/access.clh"
#include "kernels/opencl/rows.clh"

__kernel void rows(__global const storage_t* restrict x, const int x_offset,
                   __global storage_t* restrict y, const int y_offset, const int kind,
                   const int finish, const int count, const int row, const int inner) {
  DECLARE_ROW_SCRATCH
  const int index = ROW_INDEX(count);
  RETURN_BEYOND(count)
  __global const storage_t* from = x + x_offset + index / inner * row * inner + index % inner;
  float v = kind == 3 ? 1.0f : kind == 4 ? -INFINITY : kind == 5 ? INFINITY : 0.0f;
  for (int i = ROW_LANE; i < row; i += ROW_ITEMS) {
    const float e = LOAD(from, i * inner);
    if (kind == 0) v += e;
    if (kind == 1) v += fabs(e);
    if (kind == 2) v += e * e;
    if (kind == 3) v *= e;
    if (kind == 4) v = e > v || isnan(e) ? e : v;
    if (kind == 5) v = e < v || isnan(e) ? e : v;
  }
  if (kind < 3) v = JOIN_SUM(v);
  if (kind == 3) v = JOIN_PRODUCT(v);
  if (kind == 4) v = JOIN_MAX(v);
  if (kind == 5) v = JOIN_MIN(v);
  if (finish == 1) v /= row;
  if (finish == 2) v = sqrt(v);
  if (finish == 3) v = log(v);
  if (ROW_LANE == 0) STORE(v, y + y_offset, index);
}
