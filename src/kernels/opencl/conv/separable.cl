// A convolution with one filter per channel, clamped, and the 1x1 convolution behind it, in one
// launch: a work-group computes the filters of PIXELS pixels in local memory, then OC_QUADS channel
// quads of the product. What saves a launch, and a trip of the tensor between through memory, where
// launches cost as much as what they do. Work-groups of other quads of the same pixels compute the
// filters again. SLICES parts of a work-group share the depth of the product.
//   gws = {ceil(pixels / PIXELS) * ITEMS, ceil(output quads / OC_QUADS), batch}
//   lws = {ITEMS, 1, 1}, ITEMS = OC_QUADS * PIXELS / PIXEL_ITEM * SLICES
//   x, y      NCHW4c buffers or NC4HW4 images (access.clh)
//   filter    bias [quads][4] as float, then weights of the storage type [quad][tap][4]
//   products  bias [quads of oc, rounded up to OC_QUADS][4] as float, then weights of the storage
//             type [input channel, rounded up to 4][the same quads][4]
//   IN_QUADS  channel quads of x; KERNEL_*, STRIDE_*, DILATION_*, PAD_*: of the filter
#ifndef PIXELS
#define PIXELS 4
#endif
#ifndef PIXEL_ITEM
#define PIXEL_ITEM 1
#endif
#ifndef OC_QUADS
#define OC_QUADS 8
#endif
#ifndef SLICES
#define SLICES 1
#endif
#ifndef IN_QUADS
#define IN_QUADS 1
#define KERNEL_H 3
#define KERNEL_W 3
#define STRIDE_H 1
#define STRIDE_W 1
#define DILATION_H 1
#define DILATION_W 1
#define PAD_H 1
#define PAD_W 1
#endif
#define QUADS 1
#define TILE_W 1
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/conv/tile.clh"

#define PIXEL_ITEMS (PIXELS / PIXEL_ITEM)
#define ITEMS (OC_QUADS * PIXEL_ITEMS * SLICES)
// Quads of a slice of the depth.
#define STEPS ((IN_QUADS + SLICES - 1) / SLICES)
#define FILTERED (IN_QUADS * PIXELS)
#define SUMS (SLICES * OC_QUADS * PIXELS)

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void conv_separable(
    TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims, const int channels,
    __global const float* restrict filter, __global const float* restrict products,
    const int oc_quads, const float2 bounds EXPRESSION_PARAMS) {
  __local float4 shared[FILTERED > SUMS ? FILTERED : SUMS];
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int item = (int)get_global_id(0) % ITEMS;
  const int first_pixel = (int)get_global_id(0) / ITEMS * PIXELS;
  const int first_quad = (int)get_global_id(1) * OC_QUADS;
  const int n = get_global_id(2);
  const int pixels = out_dims.y * out_dims.z;

  __global const storage_t* filters = (__global const storage_t*)(filter + 4 * IN_QUADS);
  for (int i = item; i < FILTERED; i += ITEMS) {
    const int quad = i / PIXELS;
    const int pixel = min(first_pixel + i % PIXELS, pixels - 1);
    const int first_row = pixel / out_dims.z * STRIDE_H - PAD_H;
    const int first_column = pixel % out_dims.z * STRIDE_W - PAD_W;
    float4 sum = vload4(quad, filter);
#pragma unroll
    for (int tap = 0; tap < KERNEL_H * KERNEL_W; ++tap) {
      const int row = first_row + tap / KERNEL_W * DILATION_H;
      const int column = first_column + tap % KERNEL_W * DILATION_W;
      if (row < 0 || row >= in_dims.y) continue;
      const float4 v = LOAD_PADDED(x, in_dims, n, quad, row, column);
      sum = MULTIPLY_ADD(v, LOAD_VEC4(filters, quad * KERNEL_H * KERNEL_W + tap), sum);
    }
    sum = select(sum, (float4)(bounds.x), isless(sum, (float4)(bounds.x)));  // keeps NaN
    shared[i] = select(sum, (float4)(bounds.y), isgreater(sum, (float4)(bounds.y)));
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const int oc_quad = item % OC_QUADS;
  const int pixel_item = item / OC_QUADS % PIXEL_ITEMS;
  const int slice = item / (OC_QUADS * PIXEL_ITEMS);
  __global const storage_t* weights = (__global const storage_t*)(products + 4 * oc_quads);
  float4 acc[PIXEL_ITEM];
#pragma unroll
  for (int t = 0; t < PIXEL_ITEM; ++t) acc[t] = (float4)(0.0f);
#pragma unroll 4
  for (int step = 0; step < STEPS; ++step) {
    const int quad = step * SLICES + slice;
    if (quad >= IN_QUADS) continue;
    const int at = quad * 4 * oc_quads + first_quad + oc_quad;
    const float4 w0 = LOAD_VEC4(weights, at);
    const float4 w1 = LOAD_VEC4(weights, at + oc_quads);
    const float4 w2 = LOAD_VEC4(weights, at + 2 * oc_quads);
    const float4 w3 = LOAD_VEC4(weights, at + 3 * oc_quads);
#pragma unroll
    for (int t = 0; t < PIXEL_ITEM; ++t) {
      const float4 v = shared[quad * PIXELS + t * PIXEL_ITEMS + pixel_item];
      ADD_QUAD(acc[t], v, w0, w1, w2, w3);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int t = 0; t < PIXEL_ITEM; ++t)
    shared[(slice * OC_QUADS + oc_quad) * PIXELS + t * PIXEL_ITEMS + pixel_item] = acc[t];
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int i = item; i < OC_QUADS * PIXELS; i += ITEMS) {
    const int pixel = first_pixel + i % PIXELS;
    const int block = first_quad + i / PIXELS;
    if (pixel >= pixels) continue;
    float4 sum = vload4(block, products);
    for (int s = 0; s < SLICES; ++s) sum += shared[s * OC_QUADS * PIXELS + i];
    const int row = pixel / out_dims.z, column = pixel % out_dims.z;
    STORE_QUAD(sum, block)
  }
}
