// Convolution with one filter per channel. A work-item computes a tile of one channel quad,
// TILE_ROWS rows of TILE_COLUMNS neighbouring columns:
//   gws = {rows of tiles * tiles of a row, channel quads, batch}
//   x, y    NCHW4c buffers or NC4HW4 images (access.clh)
//   filter  bias [quads][4] as float, then weights of the storage type [quad][kernel row][kernel
//           column][4]
//   KERNEL_H, KERNEL_W  of the filter where its loops are unrolled, 0: as `window` says
//   STEP    the stride down and across, of filters whose taps are neighbours: the item reads each
//           pixel once; 0: as `window` says. Only with KERNEL_H and KERNEL_W
#ifndef KERNEL_H
#define KERNEL_H 0
#define KERNEL_W 0
#endif
#ifndef STEP
#define STEP 0
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 1
#endif
#ifndef TILE_COLUMNS
#define TILE_COLUMNS 4
#endif
#define QUADS 1
#define PART_STEPS 16
#define TILE_W (TILE_ROWS * TILE_COLUMNS)
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/conv/tile.clh"

#if KERNEL_H > 0
#define ROWS KERNEL_H
#define COLUMNS KERNEL_W
#define EACH_TAP _Pragma("unroll")
#else
#define ROWS window.x
#define COLUMNS window.y
#define EACH_TAP
#endif
// More rows at once than these take more registers than a GPU's units have for many items.
#if KERNEL_H * KERNEL_W <= 9
#define EACH_ROW EACH_TAP
#else
#define EACH_ROW
#endif

// acc += the sums of a tile that begins at a row and a column of the output. window = (kernel rows,
// kernel columns, row stride, column stride); borders = (rows above, columns to the left, row
// dilation, column dilation).
static void AddTaps(TENSOR_IN(x), const int4 in_dims, __global const storage_t* restrict weights,
                    const int4 window, const int4 borders, const int n, const int quad,
                    const int first_row, const int first_column, __private float4* acc) {
  DECLARE_PARTS;
#if STEP > 0
  // Row after row of what the tile reads. Places outside are read inside, so that nothing waits for
  // where they are.
  EACH_ROW
  for (int r = 0; r < (TILE_ROWS - 1) * STEP + ROWS; ++r) {
    const int in_row = first_row * STEP - borders.x + r;
    const int in_column = first_column * STEP - borders.y;
    REAL4 v[(TILE_COLUMNS - 1) * STEP + COLUMNS];
#pragma unroll
    for (int c = 0; c < (TILE_COLUMNS - 1) * STEP + COLUMNS; ++c) {
      const REAL4 pixel = LOAD4(x, in_dims, n, quad, clamp(in_row, 0, in_dims.y - 1),
                                clamp(in_column + c, 0, in_dims.z - 1));
      const int is_inside = in_row >= 0 && in_row < in_dims.y && in_column + c >= 0 &&
                            in_column + c < in_dims.z;
      v[c] = is_inside ? pixel : (REAL4)((REAL)0);
    }
#pragma unroll
    for (int t = 0; t < TILE_W; ++t) {
      const int i = r - t / TILE_COLUMNS * STEP;
      if (i < 0 || i >= ROWS) continue;
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        const REAL4 w = LOAD_WEIGHTS(weights, (quad * ROWS + i) * COLUMNS + j);
        ADD_PRODUCT(SUM(t), v[t % TILE_COLUMNS * STEP + j], w);
      }
    }
    END_SUMS
  }
#else
  EACH_TAP
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int r = 0; r < TILE_ROWS; ++r) {
      const int in_row = (first_row + r) * window.z - borders.x + i * borders.z;
      if (in_row < 0 || in_row >= in_dims.y) continue;
      int in_column = first_column * window.w - borders.y;
      EACH_TAP
      for (int j = 0; j < COLUMNS; ++j, in_column += borders.w) {
        const REAL4 w = LOAD_WEIGHTS(weights, (quad * ROWS + i) * COLUMNS + j);
#pragma unroll
        for (int t = 0; t < TILE_COLUMNS; ++t) {
          const REAL4 v = LOAD_PADDED(x, in_dims, n, quad, in_row, in_column + t * window.w);
          ADD_PRODUCT(SUM(r * TILE_COLUMNS + t), v, w);
        }
        END_STEP
      }
    }
  }
  END_SUMS
#endif
}

__kernel void conv_depthwise(TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims,
                             const int channels, __global const float* restrict filter,
                             const int bias_floats, const int4 window,
                             const int4 borders EXPRESSION_PARAMS) {
  const int tiles = (out_dims.z + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const int first_row = (int)get_global_id(0) / tiles * TILE_ROWS;
  const int first_column = (int)get_global_id(0) % tiles * TILE_COLUMNS;
  const int quad = get_global_id(1);
  const int n = get_global_id(2);
  if (first_row >= out_dims.y || quad >= out_dims.x) return;

  float4 acc[TILE_W];
  for (int t = 0; t < TILE_W; ++t) acc[t] = LOAD_BIAS(filter, quad);
  __global const storage_t* weights = (__global const storage_t*)(filter + bias_floats);
  AddTaps(x, x_offset, in_dims, weights, window, borders, n, quad, first_row, first_column, acc);

  for (int t = 0; t < TILE_W; ++t) {
    const int row = first_row + t / TILE_COLUMNS, column = first_column + t % TILE_COLUMNS;
    if (row < out_dims.y && column < out_dims.z) {
      STORE_CHANNELS(acc[t], quad)
    }
  }
}
