// Convolution of bytes with sums in int, any window, stride, dilation, padding and groups. A
// work-item computes QUADS channel quads of TILE_W neighbouring columns of one output row:
//   gws = {output rows * tiles of a row, blocks of 4 * QUADS output channels, batch}
//   x       NCHW4c buffer of IN_TYPE; beyond the borders it is its zero point
//   y       RESULT 1 or 2: NCHW4c buffer of OUT_TYPE, else pixels of floats (access.clh)
//   filter  as bytes.clh says, weights in the order [block][input quad][kernel row][kernel column]
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/quantised/bytes.clh"
#include "kernels/opencl/conv/tile.clh"

// window = (kernel rows, kernel columns, row stride, column stride); borders = (rows above, columns
// to the left, row dilation, column dilation); groups = (input channels, output channels) of one;
// padded = 4 * QUADS * blocks.
__kernel void quantised_conv(BYTE_PARAMS(OUTPUT), const int4 in_dims, const int4 out_dims,
                             const int4 window, const int4 borders, const int depth,
                             const int2 groups EXPRESSION_PARAMS) {
  const int tiles = (out_dims.z + TILE_W - 1) / TILE_W;
  const int row = (int)get_global_id(0) / tiles;
  const int first_column = (int)get_global_id(0) % tiles * TILE_W;
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (row >= out_dims.y || block * QUADS >= out_dims.x) return;

  const int x_zero = X_ZERO;
  const int first_quad = min(block * LANES / groups.y * groups.x / 4, in_dims.x - depth);
  __global const int* filter = filter_at + filter_offset;
  DECLARE_SUMS
  DECLARE_WEIGHTS + block * depth * window.x * window.y * 4 * LANES;
  const IN_VECTOR border = (IN_VECTOR)((IN_TYPE)x_zero);
  for (int quad = first_quad; quad < first_quad + depth; ++quad) {
    for (int i = 0; i < window.x; ++i) {
      const int in_row = row * window.z - borders.x + i * borders.z;
      const bool is_row = in_row >= 0 && in_row < in_dims.y;
      const int line = x_offset + ((n * in_dims.x + quad) * in_dims.y + in_row) * in_dims.z;
      int in_column = first_column * window.w - borders.y;
      for (int j = 0; j < window.y; ++j, in_column += borders.w, weights += 4 * LANES) {
        IN_VECTOR v[TILE_W];
        for (int t = 0; t < TILE_W; ++t) {
          const int at = in_column + t * window.w;
          v[t] = is_row && at >= 0 && at < in_dims.z ? vload4(line + at, x) : border;
        }
        ADD_PRODUCTS(v)
      }
    }
  }

  DECLARE_SCALES;
  for (int t = 0; t < TILE_W; ++t) {
    const int column = first_column + t;
    if (column < out_dims.z) {
      STORE_CHANNELS(RESULT_OF(PLACE_SUMS(t)), block * QUADS)
    }
  }
}
