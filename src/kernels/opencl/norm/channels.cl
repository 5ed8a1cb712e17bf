// LayerNormalization and RMSNormalization of the channels of each pixel: (x - mean) / sqrt(variance + epsilon) *
// scale + bias, between pixels of four channels (access.clh) and row-major rows of `channels`, one a pixel.
//   FROM_ROWS, TO_ROWS  1: x, or y, is row-major
//   WHOLE        1: channels are whole blocks of four
//   HELD         a work-item keeps its blocks of the pixel, so many at most; 0: reads them again
//   rows.clh: a row is a pixel of all images, its elements are blocks of four channels
//   dims         of the side in pixels; of_x, of_y: those of x and y where they are images
//   scale, bias  four values per block, zero behind the last channel
//   takes_mean   0: root mean square, no mean
//   has_bias     0: none
#include "kernels/opencl/access.clh"
#include "kernels/opencl/rows.clh"
#ifndef FROM_ROWS
#define FROM_ROWS 0
#define TO_ROWS 0
#define WHOLE 0
#endif
#ifndef HELD
#define HELD 0
#endif

#if FROM_ROWS
#define SOURCE __global const storage_t* restrict x, const int x_offset
#define LOAD_BLOCK(b) LoadFour(x + x_offset + index * channels + (b)*4, channels - (b)*4)
#elif FETTLE_IMAGE
#define SOURCE TENSOR_IN(x)
#define LOAD_BLOCK(b) LOAD4(x, x_dims, image, b, place / x_dims.z, place % x_dims.z)
#else
#define SOURCE TENSOR_IN(x)
#define LOAD_BLOCK(b) LOAD_WHOLE(x, x_offset + (image * blocks + (b)) * plane + place)
#endif
#if TO_ROWS
#define RESULT __global storage_t* restrict y, const int y_offset
#define STORE_BLOCK(v, b) StoreFour(v, y + y_offset + index * channels + (b)*4, channels - (b)*4)
#elif FETTLE_IMAGE
#define RESULT TENSOR_OUT(y)
#define STORE_BLOCK(v, b) STORE4(v, y, y_dims, image, b, place / y_dims.z, place % y_dims.z)
#else
#define RESULT TENSOR_OUT(y)
#define STORE_BLOCK(v, b) STORE_WHOLE(v, y, y_offset + (image * blocks + (b)) * plane + place)
#endif

// Four channels of a row, of which `left` are there; zeros behind them.
#if FROM_ROWS
static float4 LoadFour(__global const storage_t* restrict p, const int left) {
#if WHOLE
  return LOAD_WHOLE(p, 0);
#else
  float4 v = (float4)(LOAD(p, 0), 0.0f, 0.0f, 0.0f);
  if (left > 1) v.y = LOAD(p, 1);
  if (left > 2) v.z = LOAD(p, 2);
  if (left > 3) v.w = LOAD(p, 3);
  return v;
#endif
}
#endif
#if TO_ROWS
static void StoreFour(const float4 v, __global storage_t* restrict p, const int left) {
#if WHOLE
  STORE_WHOLE(v, p, 0);
#else
  STORE(v.x, p, 0);
  if (left > 1) STORE(v.y, p, 1);
  if (left > 2) STORE(v.z, p, 2);
  if (left > 3) STORE(v.w, p, 3);
#endif
}
#endif

// Channels behind the last do not deviate.
#if WHOLE
#define INSIDE(d, b) (d)
#else
#define INSIDE(d, b) select((float4)(0.0f), d, (b)*4 + (int4)(0, 1, 2, 3) < channels)
#endif
#if HELD
#define FOR_BLOCKS                                                                             \
  _Pragma("unroll") for (int h = 0, b = ROW_LANE; h < HELD; ++h, b += ROW_ITEMS) if (b < blocks)
#define READ_BLOCK (held[h] = LOAD_BLOCK(b))
#define DEVIATION INSIDE(held[h] - mean, b)
#else
#define FOR_BLOCKS for (int b = ROW_LANE; b < blocks; b += ROW_ITEMS)
#define READ_BLOCK LOAD_BLOCK(b)
#define DEVIATION INSIDE(LOAD_BLOCK(b) - mean, b)
#endif
#define SUM_OF(v) ((v).x + (v).y + (v).z + (v).w)

__kernel void channels(SOURCE, const int4 x_dims, RESULT, const int4 y_dims, __global const float* restrict scale,
                       const int scale_offset, __global const float* restrict bias, const int bias_offset,
                       const int takes_mean, const int has_bias, const float epsilon, const int channels,
                       const int plane, const int count) {
  DECLARE_ROW_SCRATCH
  const int index = ROW_INDEX(count), blocks = (channels + 3) / 4;
  RETURN_BEYOND(count)
  const int image = index / plane, place = index % plane;
#if HELD
  float4 held[HELD];
#endif
  float4 sums = (float4)(0.0f);
  FOR_BLOCKS sums += READ_BLOCK;
  const float sum = JOIN_SUM(SUM_OF(sums));
  const float mean = takes_mean ? sum / channels : 0.0f;
  // The deviations, not the squares less the square of the mean: those would cancel.
  float4 squares = (float4)(0.0f);
  FOR_BLOCKS {
    const float4 d = DEVIATION;
    squares += d * d;
  }
  const float factor = 1.0f / sqrt(JOIN_SUM(SUM_OF(squares)) / channels + epsilon);
  FOR_BLOCKS {
    const float4 v = DEVIATION * factor * vload4(b, scale + scale_offset);
    STORE_BLOCK(has_bias ? v + vload4(b, bias + bias_offset) : v, b);
  }
}
