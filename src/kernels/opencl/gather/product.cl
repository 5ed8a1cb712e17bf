// Products of rows x[t] by matrices w[i[t]] of row-major buffers, stored as f32 or f16
// (access.clh).
#include "kernels/opencl/access.clh"
#include "kernels/opencl/gather/index.clh"

#define LANES 32
#define ROWS 4

// y[t][n] = sum of x[t][k] * w[i[t]][n][k]: lws = {LANES, ROWS, 1} over {LANES, n, t}.
__kernel void rows(__global const storage_t* restrict w, const int w_offset,
                   __global const INDEX* restrict indices, const int indices_offset,
                   __global const storage_t* restrict x, const int x_offset,
                   __global storage_t* restrict y, const int y_offset, const int tokens,
                   const int matrices, const int depth, const int results) {
  __local float sums[ROWS][LANES];
  const int lane = get_local_id(0), row = get_local_id(1);
  const int n = get_global_id(1), t = get_global_id(2);
  float sum = 0.0f;
  if (n < results) {
    const int at = PlaceOf(indices[indices_offset + t], matrices);
    const int from = w_offset + (at * results + n) * depth, with = x_offset + t * depth;
    for (int k = lane; k < depth; k += LANES) sum += LOAD(x, with + k) * LOAD(w, from + k);
  }
  sums[row][lane] = sum;
  for (int half_of = LANES / 2; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_of) sums[row][lane] += sums[row][lane + half_of];
  }
  if (lane == 0 && n < results) STORE(sums[row][0], y, y_offset + t * results + n);
}

// y[t][n] = sum of x[t][k] * w[i[t]][k][n]: a work-item for each t and four n.
__kernel void columns(__global const storage_t* restrict w, const int w_offset,
                      __global const INDEX* restrict indices, const int indices_offset,
                      __global const storage_t* restrict x, const int x_offset,
                      __global storage_t* restrict y, const int y_offset, const int tokens,
                      const int matrices, const int depth, const int results) {
  const int n = get_global_id(0) * 4, t = get_global_id(1);
  if (n >= results || t >= tokens) return;
  const int at = PlaceOf(indices[indices_offset + t], matrices);
  const int from = w_offset + at * depth * results + n, with = x_offset + t * depth;
  const int to = y_offset + t * results + n;
  if (n + 4 <= results) {
    float4 sums = 0.0f;
    for (int k = 0; k < depth; ++k)
      sums += LOAD(x, with + k) * LOAD_VEC4(w + from + k * results, 0);
    STORE_VEC4(sums, y + to, 0);
    return;
  }
  for (int i = 0; i < results - n; ++i) {
    float sum = 0.0f;
    for (int k = 0; k < depth; ++k) sum += LOAD(x, with + k) * LOAD(w, from + k * results + i);
    STORE(sum, y, to + i);
  }
}
