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

// Blocks of four are pixels, which begin at multiples of their size, or rows, which mostly do: NVIDIA's
// compiler moves four elements at once where it is told so.
#if defined(__NV_CL_C_VERSION) && !IN_BFLOAT && !OUT_BFLOAT
#define WHOLE_IN !IN_IMAGE
#define WHOLE_OUT !OUT_IMAGE
#define VECTOR_OF(type) JOINED(type, 4)
#define JOINED(type, n) type##n
#if IN_HALF || OUT_HALF
#define FETTLE_COMPUTE 0
#define FETTLE_HALF 1
#define FETTLE_BFLOAT 0
#include "kernels/opencl/whole_pixels.clh"
#endif
#if IN_HALF
#define LOAD_FOUR(p, i) LOAD_WHOLE(p, i)
#else
#define LOAD_FOUR(p, i) (((__global const VECTOR_OF(IN_TYPE)*)(p))[i])
#endif
#if OUT_HALF
#define STORE_FOUR(v, p, i) STORE_WHOLE(v, p, i)
#else
#define STORE_FOUR(v, p, i) (((__global VECTOR_OF(OUT_TYPE)*)(p))[i] = (v))
#endif
#else
#define WHOLE_IN 0
#define WHOLE_OUT 0
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
  const int first = quad * 4;
  if (s >= plane || first >= out_channels) return;
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
#if WHOLE_IN
  if (in_block == 4 && x_offset % 4 == 0 && first < channels) {
    const VECTOR_OF(VALUE_TYPE) pixel =
        LOAD_FOUR(x + x_offset, ((long)n * ((channels + 3) / 4) + quad) * plane + s);
    v[0] = pixel.x;
    v[1] = first + 1 < channels ? pixel.y : 0;
    v[2] = first + 2 < channels ? pixel.z : 0;
    v[3] = first + 3 < channels ? pixel.w : 0;
  } else
#endif
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
#if WHOLE_OUT
  if (out_block == 4 && y_offset % 4 == 0) {
    STORE_FOUR((VECTOR_OF(VALUE_TYPE))(v[0], v[1], v[2], v[3]), y + y_offset,
               ((long)n * (out_channels / 4) + quad) * plane + s);
    return;
  }
#endif
  for (int i = 0; i < 4; ++i) {
    const int c = first + i;
    if (c < out_channels)
      STORE_ELEMENT(v[i], y, y_offset + ElementAt(n, c, s, channels, plane, out_block));
  }
#endif
}
