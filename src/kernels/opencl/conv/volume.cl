// Convolution over three spatial axes of row-major tensors. Four neighbouring columns of an output row are a quad;
// quads are counted along width, height and depth.
//   conv_volume      a work-group of 16x16 makes 16 quads of 64 * CHANNEL_QUADS channels of one image and group, from
//                    patches and weights in local memory: gws = {16 * quads / 16, 16 * blocks, batch * groups}
//   conv_volume_few  a work-item makes a quad of one channel: gws = {quads, channels, batch}
//   x, y     row-major buffers [batch][channel][depth][row][column] of the storage type
//   filter   bias [channels] as float, then weights of the storage type [group][block][input channel, tap][LANES]
//   in, out  (depth, height, width, channels of a group); stride.w: groups
// KERNEL_D, KERNEL_H and KERNEL_W are compiled in: divisions by them are multiplications.
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/multiply_add.clh"

#ifndef CHANNEL_QUADS
#define CHANNEL_QUADS 1
#endif
#ifndef KERNEL_D
#define KERNEL_D 3
#define KERNEL_H 3
#define KERNEL_W 3
#endif
#define LANES (64 * CHANNEL_QUADS)
#define TAPS (KERNEL_D * KERNEL_H * KERNEL_W)

#define VOLUME_PARAMS                                                                                   \
  __global const storage_t *restrict x, const int x_offset, __global storage_t *restrict y,             \
      const int y_offset, __global const float *restrict filter, const int bias_floats, const int4 in,  \
      const int4 out, const int4 stride, const int4 pad, const int4 dilation EXPRESSION_PARAMS

// (depth, row, first column) of a quad.
static int4 PlaceOfQuad(const int quad, const int4 out) {
  const int of_row = (out.z + 3) / 4;
  return (int4)(quad / of_row / out.y, quad / of_row % out.y, quad % of_row * 4, 0);
}

// What tap `k` (of input channels and taps) meets under the quad whose first tap lies at `first`; zero outside.
static float4 PatchOf(__global const storage_t* restrict x, const int image, const int k, const int4 first,
                      const int4 in, const int4 dilation, const int step) {
  const int tap = k % TAPS;
  const int4 at = first + (int4)(tap / (KERNEL_H * KERNEL_W), tap / KERNEL_W % KERNEL_H, tap % KERNEL_W, 0) * dilation;
  float4 v = (float4)(0.0f);
  if (at.x < 0 || at.x >= in.x || at.y < 0 || at.y >= in.y) return v;
  const int line = image + ((k / TAPS * in.x + at.x) * in.y + at.y) * in.z;
  const int4 columns = at.z + (int4)(0, 1, 2, 3) * step;
  if (columns.x >= 0 && columns.x < in.z) v.x = LOAD(x, line + columns.x);
  if (columns.y >= 0 && columns.y < in.z) v.y = LOAD(x, line + columns.y);
  if (columns.z >= 0 && columns.z < in.z) v.z = LOAD(x, line + columns.z);
  if (columns.w >= 0 && columns.w < in.z) v.w = LOAD(x, line + columns.w);
  return v;
}

static void StoreQuad(const float4 v, __global storage_t* restrict y, const int at, const int left) {
  if (left >= 4) {
    STORE_VEC4(v, y + at, 0);
    return;
  }
  STORE(v.x, y, at);
  if (left > 1) STORE(v.y, y, at + 1);
  if (left > 2) STORE(v.z, y, at + 2);
}

#define FINISH_QUAD(v, channel)                                                        \
  {                                                                                    \
    const int row = (((n * groups + group) * out.w + (channel)) * out.x + place.x) * out.y + place.y; \
    const float4 finished = FINISH_ROWS(v, row, place.z);                              \
    StoreQuad(finished, y, y_offset + row * out.z + place.z, out.z - place.z);         \
  }

__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void conv_volume(VOLUME_PARAMS) {
  __local float4 patches[16][16];
  __local float4 weights[16][16 * CHANNEL_QUADS];
  const int i = get_local_id(0), j = get_local_id(1), block = (int)get_global_id(1) / 16;
  const int groups = stride.w, group = (int)get_global_id(2) % groups, n = (int)get_global_id(2) / groups;
  const int quad = get_global_id(0), depth = in.w * TAPS, blocks = (out.w + LANES - 1) / LANES;
  const int4 place = PlaceOfQuad(quad, out);
  const int4 first = place * (int4)(stride.xyz, 0) - pad;
  const bool is_inside = place.x < out.x;
  const int image = x_offset + (n * groups + group) * in.w * in.x * in.y * in.z;
  __global const storage_t* from = (__global const storage_t*)(filter + bias_floats) +
                                   (group * blocks + block) * depth * LANES;
  float4 acc[4 * CHANNEL_QUADS];
  for (int c = 0; c < 4 * CHANNEL_QUADS; ++c) acc[c] = (float4)(0.0f);

  for (int k = j; k - j < depth; k += 16) {
    const bool has_tap = k < depth;
    patches[j][i] = has_tap && is_inside ? PatchOf(x, image, k, first, in, dilation, stride.z) : (float4)(0.0f);
    for (int c = 0; c < CHANNEL_QUADS; ++c)
      weights[j][i + 16 * c] = has_tap ? LOAD_VEC4(from + k * LANES, i + 16 * c) : (float4)(0.0f);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 0; step < 16; ++step) {
      const float4 patch = patches[step][i];
      for (int c = 0; c < CHANNEL_QUADS; ++c) {
        const float4 w = weights[step][j * CHANNEL_QUADS + c];
        acc[4 * c] = MULTIPLY_ADD(patch, (float4)(w.x), acc[4 * c]);
        acc[4 * c + 1] = MULTIPLY_ADD(patch, (float4)(w.y), acc[4 * c + 1]);
        acc[4 * c + 2] = MULTIPLY_ADD(patch, (float4)(w.z), acc[4 * c + 2]);
        acc[4 * c + 3] = MULTIPLY_ADD(patch, (float4)(w.w), acc[4 * c + 3]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  if (!is_inside) return;
  for (int c = 0; c < 4 * CHANNEL_QUADS; ++c) {
    const int channel = block * LANES + j * 4 * CHANNEL_QUADS + c;
    if (channel < out.w) FINISH_QUAD(acc[c] + filter[group * out.w + channel], channel)
  }
}

__kernel void conv_volume_few(VOLUME_PARAMS) {
  const int quad = get_global_id(0), n = get_global_id(2);
  const int groups = stride.w, group = (int)get_global_id(1) / out.w, channel = (int)get_global_id(1) % out.w;
  const int4 place = PlaceOfQuad(quad, out);
  if (place.x >= out.x || group >= groups) return;
  const int4 first = place * (int4)(stride.xyz, 0) - pad;
  const int image = x_offset + (n * groups + group) * in.w * in.x * in.y * in.z, depth = in.w * TAPS;
  const int blocks = (out.w + LANES - 1) / LANES;
  __global const storage_t* from = (__global const storage_t*)(filter + bias_floats) +
                                   (group * blocks + channel / LANES) * depth * LANES + channel % LANES;
  float4 sum = (float4)(filter[group * out.w + channel]);
  for (int k = 0; k < depth; ++k)
    sum = MULTIPLY_ADD(PatchOf(x, image, k, first, in, dilation, stride.z), (float4)(LOAD(from, k * LANES)), sum);
  FINISH_QUAD(sum, channel)
}
