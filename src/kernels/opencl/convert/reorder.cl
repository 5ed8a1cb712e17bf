// Copies a tensor into another layout, memory or float type. Elements are seen as [batch, channel,
// plane]; channels lie in blocks of BLOCK neighbours (1: row-major; all: channels last). A
// work-item moves four channels of one place in the plane: gws = {plane, channel quads of the
// output, batch}. Pad lanes of the output get zero.
//   IN_IMAGE, OUT_IMAGE  1: an image in NC4HW4 instead of a buffer
//   IN_TYPE, OUT_TYPE    element types; half and, with IN_BFLOAT and OUT_BFLOAT 1, bf16 go through float,
//                        others are copied as they are
#ifndef IN_IMAGE
#define IN_IMAGE 0
#endif
#ifndef OUT_IMAGE
#define OUT_IMAGE 0
#endif
#ifndef IN_TYPE
#define IN_TYPE float
#endif
#ifndef OUT_TYPE
#define OUT_TYPE float
#endif
#ifndef IN_HALF
#define IN_HALF 0
#endif
#ifndef OUT_HALF
#define OUT_HALF 0
#endif
#ifndef VALUE_TYPE
#define VALUE_TYPE float
#endif

#ifndef IN_BFLOAT
#define IN_BFLOAT 0
#endif
#ifndef OUT_BFLOAT
#define OUT_BFLOAT 0
#endif
#if IN_BFLOAT || OUT_BFLOAT
#include "kernels/opencl/bfloat.clh"
#endif

#if IN_HALF
#define LOAD_ELEMENT(p, i) vload_half(i, p)
#elif IN_BFLOAT
#define LOAD_ELEMENT(p, i) Widened((p)[i])
#else
#define LOAD_ELEMENT(p, i) ((p)[i])
#endif
#if OUT_HALF
#define STORE_ELEMENT(v, p, i) vstore_half_rte(v, i, p)
#elif OUT_BFLOAT
#define STORE_ELEMENT(v, p, i) ((p)[i] = Narrowed(v))
#else
#define STORE_ELEMENT(v, p, i) ((p)[i] = (v))
#endif

#if IN_IMAGE
__constant sampler_t kPixels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#define INPUT __read_only image2d_t x
#else
#define INPUT __global const IN_TYPE* restrict x
#endif
#if OUT_IMAGE
#define OUTPUT __write_only image2d_t y
#if OUT_HALF
#include "kernels/opencl/half_pixels.clh"
#define WRITE_PIXEL WRITE_HALVES
#else
#define WRITE_PIXEL write_imagef
#endif
#else
#define OUTPUT __global OUT_TYPE* restrict y
#endif

// Where an element lies in a buffer.
long ElementAt(int n, int c, int s, int channels, int plane, int block) {
  const int blocks = (channels + block - 1) / block;
  return (((long)n * blocks + c / block) * plane + s) * block + c % block;
}

// Offsets count elements; `width` is the number of columns of the plane.
__kernel void reorder(INPUT, const long x_offset, OUTPUT, const long y_offset, const int channels,
                      const int plane, const int width, const int in_block, const int out_block,
                      const int out_channels) {
  const int s = get_global_id(0);
  const int quad = get_global_id(1);
  const int n = get_global_id(2);
  if (s >= plane) return;
  const int first = quad * 4;
  VALUE_TYPE v[4];
#if IN_IMAGE
  const float4 pixel =
      first < channels
          ? read_imagef(x, kPixels,
                        (int2)(quad * width + s % width, n * (plane / width) + s / width))
          : (float4)(0);
  v[0] = pixel.x;
  v[1] = pixel.y;
  v[2] = pixel.z;
  v[3] = pixel.w;
#else
  for (int i = 0; i < 4; ++i) {
    const int c = first + i;
    v[i] = c < channels ? LOAD_ELEMENT(x, x_offset + ElementAt(n, c, s, channels, plane, in_block))
                        : 0;
  }
#endif
#if OUT_IMAGE
  WRITE_PIXEL(y, (int2)(quad * width + s % width, n * (plane / width) + s / width),
              (float4)(v[0], v[1], v[2], v[3]));
#else
  for (int i = 0; i < 4; ++i) {
    const int c = first + i;
    if (c < out_channels)
      STORE_ELEMENT(v[i], y, y_offset + ElementAt(n, c, s, channels, plane, out_block));
  }
#endif
}
