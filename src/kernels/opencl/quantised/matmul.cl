// Rows of bytes times constant weights, sums in int. A work-item computes 4 * QUADS columns of
// TILE_W rows of the output:
//   gws = {ceil(rows / TILE_W), blocks of 4 * QUADS columns}
//   x       row-major buffer [rows, depth] of IN_TYPE
//   y       row-major buffer [rows, channels], of OUT_TYPE or the storage type
//   filter  as bytes.clh says, weights in the order [block][quad of depth]
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/quantised/rows.clh"
#include "kernels/opencl/conv/tile.clh"

// Beyond the end anything: weights are zero there.
static IN_VECTOR LoadQuad(__global const IN_TYPE* restrict p, const int left) {
  if (left >= 4) return vload4(0, p);
  return (IN_VECTOR)(p[0], p[min(1, left - 1)], p[left - 1], (IN_TYPE)0);
}

__kernel void quantised_matmul(BYTE_PARAMS(OUTPUT), const int rows,
                               const int depth EXPRESSION_PARAMS) {
  const int first_row = get_global_id(0) * TILE_W;
  const int block = get_global_id(1);
  if (first_row >= rows || block * LANES >= padded) return;

  const int x_zero = X_ZERO;
  const int quads = (depth + 3) / 4;
  __global const int* filter = filter_at + filter_offset;
  DECLARE_SUMS
  DECLARE_WEIGHTS + block * quads * 4 * LANES;
  for (int quad = 0; quad < quads; ++quad, weights += 4 * LANES) {
    IN_VECTOR v[TILE_W];
    for (int t = 0; t < TILE_W; ++t) {
      const int row = min(first_row + t, rows - 1);
      v[t] = LoadQuad(x + x_offset + row * depth + quad * 4, depth - quad * 4);
    }
    ADD_PRODUCTS(v)
  }

  DECLARE_SCALES;
  for (int t = 0; t < TILE_W; ++t) {
    const int row = first_row + t;
    if (row < rows) {
      STORE_CHANNELS(RESULT_OF(PLACE_SUMS(t)), block * QUADS)
    }
  }
}
