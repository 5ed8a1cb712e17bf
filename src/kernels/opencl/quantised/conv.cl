// Convolution of bytes with sums in int, any window, stride, dilation, padding and groups. A
// work-item computes QUADS channel quads of TILE_W neighbouring columns of one output row:
//   gws = {output rows * tiles of a row, blocks of 4 * QUADS output channels, batch}
//   x       NCHW4c buffer of IN_TYPE
//   y       BYTES: NCHW4c buffer of OUT_TYPE, else pixels of floats (access.clh)
//   filter  per padded output channel: what sums begin with (int), scale and addend (float); then
//           weights less their zero point [block][input quad][kernel row][kernel column]
//             DOT 0: short [4 input channels][4 * QUADS output channels]
//             DOT 1: char [4 * QUADS output channels][4 input channels]
// result = sum * scale + addend; bytes are round(result) + zero, `limits` hold what rounds to the
// least and the greatest byte, less zero. Beyond the borders x is its zero point.
#ifndef IN_TYPE
#define IN_TYPE uchar
#endif
#ifndef IN_VECTOR
#define IN_VECTOR uchar4
#endif
#ifndef BYTES
#define BYTES 1
#endif
#ifndef OUT_TYPE
#define OUT_TYPE uchar
#endif
#ifndef OUT_CONVERT
#define OUT_CONVERT convert_uchar4
#endif
#ifndef DOT
#define DOT 0
#endif
#if DOT
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#endif
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"

#if BYTES
#define OUTPUT __global OUT_TYPE* restrict y, const int y_offset
// Zero in lanes beyond `channels`.
#define STORE_QUAD(v, block)                                                                     \
  if ((block) < out_dims.x) {                                                                    \
    const int4 byte = convert_int4_rte(clamp(v, limits.x, limits.y)) + zero;                     \
    const int4 lane = (block) * 4 + (int4)(0, 1, 2, 3);                                          \
    vstore4(OUT_CONVERT(select((int4)(0), byte, lane < channels)),                               \
            y_offset + ((n * out_dims.x + (block)) * out_dims.y + row) * out_dims.z + column, y); \
  }
#else
#define OUTPUT TENSOR_OUT(y)
#endif
#include "kernels/opencl/conv/tile.clh"

#if QUADS == 1
#define SUMS int4
#define LOAD_SUMS(p, i) vload4(i, p)
#define LOAD_SHORTS(p, i) convert_int4(vload4(i, p))
#define TO_CHANNELS convert_float4
#elif QUADS == 2
#define SUMS int8
#define LOAD_SUMS(p, i) vload8(i, p)
#define LOAD_SHORTS(p, i) convert_int8(vload8(i, p))
#define TO_CHANNELS convert_float8
#else
#define SUMS int16
#define LOAD_SUMS(p, i) vload16(i, p)
#define LOAD_SHORTS(p, i) convert_int16(vload16(i, p))
#define TO_CHANNELS convert_float16
#endif

// window = (kernel rows, kernel columns, row stride, column stride); borders = (rows above, columns
// to the left, row dilation, column dilation); groups = (input channels, output channels) of one;
// padded = 4 * QUADS * blocks.
__kernel void quantised_conv(__global const IN_TYPE* restrict x, const int x_offset,
                             const int4 in_dims, OUTPUT, const int4 out_dims, const int channels,
                             __global const int* restrict filter, const int padded,
                             const int4 window, const int4 borders, const int depth,
                             const int2 groups, const int x_zero, const int zero,
                             const float2 limits EXPRESSION_PARAMS) {
  const int tiles = (out_dims.z + TILE_W - 1) / TILE_W;
  const int row = (int)get_global_id(0) / tiles;
  const int first_column = (int)get_global_id(0) % tiles * TILE_W;
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (row >= out_dims.y || block * QUADS >= out_dims.x) return;

  const int first_quad = min(block * LANES / groups.y * groups.x / 4, in_dims.x - depth);
  const int taps = window.x * window.y;
#if DOT
  int acc[TILE_W][LANES];
  for (int t = 0; t < TILE_W; ++t)
    for (int o = 0; o < LANES; ++o) acc[t][o] = filter[block * LANES + o];
  __global const char* weights = (__global const char*)(filter + 3 * padded);
#else
  SUMS acc[TILE_W];
  for (int t = 0; t < TILE_W; ++t) acc[t] = LOAD_SUMS(filter, block);
  __global const short* weights = (__global const short*)(filter + 3 * padded);
#endif
  weights += block * depth * taps * 4 * LANES;
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
#if DOT
        for (int o = 0; o < LANES; ++o) {
          const char4 w = vload4(o, weights);
          for (int t = 0; t < TILE_W; ++t) acc[t][o] += dot(v[t], w);
        }
#else
        const SUMS w0 = LOAD_SHORTS(weights, 0), w1 = LOAD_SHORTS(weights, 1);
        const SUMS w2 = LOAD_SHORTS(weights, 2), w3 = LOAD_SHORTS(weights, 3);
        for (int t = 0; t < TILE_W; ++t) {
          const int4 c = convert_int4(v[t]);
          acc[t] += (SUMS)(c.x) * w0 + (SUMS)(c.y) * w1 + (SUMS)(c.z) * w2 + (SUMS)(c.w) * w3;
        }
#endif
      }
    }
  }

  const CHANNELS scale = LOAD_BIAS((__global const float*)(filter + padded), block);
  const CHANNELS addend = LOAD_BIAS((__global const float*)(filter + 2 * padded), block);
  for (int t = 0; t < TILE_W; ++t) {
    const int column = first_column + t;
    if (column < out_dims.z) {
#if DOT
      const SUMS sum = LOAD_SUMS(acc[t], 0);
#else
      const SUMS sum = acc[t];
#endif
      const CHANNELS result = MULTIPLY_ADD(TO_CHANNELS(sum), scale, addend);
      STORE_CHANNELS(result, block * QUADS)
    }
  }
}
