// Convolution with one filter per channel. A work-item computes TILE_W neighbouring columns of one
// channel quad:
//   gws = {output rows * tiles of a row, channel quads, batch}
//   x, y    NCHW4c buffers or NC4HW4 images (access.clh)
//   filter  bias [quads][4] as float, then weights of the storage type [quad][kernel row][kernel
//           column][4]
//   KERNEL_H, KERNEL_W  of the filter where its loops are unrolled, 0: as `window` says
#ifndef KERNEL_H
#define KERNEL_H 0
#define KERNEL_W 0
#endif
#define QUADS 1
#define PART_STEPS 16
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

// window = (kernel rows, kernel columns, row stride, column stride); borders = (rows above, columns
// to the left, row dilation, column dilation).
__kernel void conv_depthwise(TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims,
                             const int channels, __global const float* restrict filter,
                             const int bias_floats, const int4 window,
                             const int4 borders EXPRESSION_PARAMS) {
  const int tiles = (out_dims.z + TILE_W - 1) / TILE_W;
  const int row = (int)get_global_id(0) / tiles;
  const int first_column = (int)get_global_id(0) % tiles * TILE_W;
  const int quad = get_global_id(1);
  const int n = get_global_id(2);
  if (row >= out_dims.y || quad >= out_dims.x) return;

  float4 acc[TILE_W];
  for (int t = 0; t < TILE_W; ++t) acc[t] = LOAD_BIAS(filter, quad);
  DECLARE_PARTS;

  __global const storage_t* weights = (__global const storage_t*)(filter + bias_floats);
  EACH_TAP
  for (int i = 0; i < ROWS; ++i) {
    const int in_row = row * window.z - borders.x + i * borders.z;
    if (in_row < 0 || in_row >= in_dims.y) continue;
    int in_column = first_column * window.w - borders.y;
    EACH_TAP
    for (int j = 0; j < COLUMNS; ++j, in_column += borders.w) {
      const REAL4 w = LOAD_WEIGHTS(weights, (quad * ROWS + i) * COLUMNS + j);
#pragma unroll
      for (int t = 0; t < TILE_W; ++t) {
        const REAL4 v = LOAD_PADDED(x, in_dims, n, quad, in_row, in_column + t * window.w);
        ADD_PRODUCT(SUM(t), v, w);
      }
      END_STEP
    }
  }
  END_SUMS

  for (int t = 0; t < TILE_W; ++t) {
    const int column = first_column + t;
    if (column < out_dims.z) {
      STORE_CHANNELS(acc[t], quad)
    }
  }
}
