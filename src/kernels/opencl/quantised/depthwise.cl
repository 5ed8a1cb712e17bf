// Convolution of bytes with one filter per channel, sums in int. A work-item computes TILE_W
// neighbouring columns of one channel quad:
//   gws = {output rows * tiles of a row, channel quads, batch}
//   x       NCHW4c buffer of IN_TYPE; beyond the borders it is its zero point
//   y       RESULT 1 or 2: NCHW4c buffer of OUT_TYPE, else pixels of floats (access.clh)
//   filter  as bytes.clh says, weights short [quad][kernel row][kernel column][4]
#define QUADS 1
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/quantised/bytes.clh"
#include "kernels/opencl/conv/tile.clh"

// window = (kernel rows, kernel columns, row stride, column stride); borders = (rows above, columns
// to the left, row dilation, column dilation); padded = 4 * quads.
__kernel void quantised_depthwise(BYTE_PARAMS(OUTPUT), const int4 in_dims, const int4 out_dims,
                                  const int4 window, const int4 borders EXPRESSION_PARAMS) {
  const int tiles = (out_dims.z + TILE_W - 1) / TILE_W;
  const int row = (int)get_global_id(0) / tiles;
  const int first_column = (int)get_global_id(0) % tiles * TILE_W;
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (row >= out_dims.y || block >= out_dims.x) return;

  const int x_zero = X_ZERO;
  __global const int* filter = filter_at + filter_offset;
  DECLARE_SUMS
  DECLARE_WEIGHTS + block * window.x * window.y * 4;
  for (int i = 0; i < window.x; ++i) {
    const int in_row = row * window.z - borders.x + i * borders.z;
    const bool is_row = in_row >= 0 && in_row < in_dims.y;
    const int line = x_offset + ((n * in_dims.x + block) * in_dims.y + in_row) * in_dims.z;
    int in_column = first_column * window.w - borders.y;
    for (int j = 0; j < window.y; ++j, in_column += borders.w, weights += 4) {
      const int4 w = LOAD_SHORTS(weights, 0);
      for (int t = 0; t < TILE_W; ++t) {
        const int at = in_column + t * window.w;
        const bool is_inside = is_row && at >= 0 && at < in_dims.z;
        acc[t] += w * (is_inside ? convert_int4(vload4(line + at, x)) : (int4)(x_zero));
      }
    }
  }

  DECLARE_SCALES;
  for (int t = 0; t < TILE_W; ++t) {
    const int column = first_column + t;
    if (column < out_dims.z) {
      STORE_CHANNELS(RESULT_OF(PLACE_SUMS(t)), block)
    }
  }
}
