// Convolution over three spatial axes of row-major tensors. Four neighbouring columns of an output row are a quad;
// quads are counted along width, height and depth. A work-group of 256 makes SIDE quads of LANES channels of one image
// and group from patches and weights in local memory, CHUNK steps of (input channel, tap) at a time. SLICES of its items
// share each output: each adds up 16 of the steps, and what they have is joined in the end.
//   conv_volume      lws = {256}, gws = {256 * quads / SIDE, blocks of LANES channels, batch * groups}
//   conv_volume_few  (SLICES 0) a work-item makes a quad of one channel: gws = {quads, channels, batch}
//   x, y     row-major buffers [batch][channel][depth][row][column] of the storage type
//   filter   bias [channels] as float, then weights of the storage type [group][block][input channel, tap][LANES]
//   in, out  (depth, height, width, channels of a group); stride.w: groups
// FILTER_GIVEN  1: weights and bias are row-major buffers of the storage type, weights [channel][input channel, tap]
// SHUFFLE       1: channel c * STRIDE_D * STRIDE_H * STRIDE_W + p is channel c of y at phase p of each output's
//               stride: y_dims are the extents of y, y_origin is where quad 0 lies in it at phase 0
// KERNEL_D, KERNEL_H and KERNEL_W are compiled in: divisions by them are multiplications.
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/multiply_add.clh"

#ifndef CHANNEL_QUADS
#define CHANNEL_QUADS 1
#endif
#ifndef SLICES
#define SLICES 1
#endif
#ifndef FILTER_GIVEN
#define FILTER_GIVEN 0
#endif
#ifndef HAS_BIAS
#define HAS_BIAS 1
#endif
#ifndef KERNEL_D
#define KERNEL_D 3
#define KERNEL_H 3
#define KERNEL_W 3
#endif
#ifndef SHUFFLE
#define SHUFFLE 0
#endif
#ifndef STRIDE_D
#define STRIDE_D 2
#define STRIDE_H 2
#define STRIDE_W 2
#endif
#define TAPS (KERNEL_D * KERNEL_H * KERNEL_W)
#if SLICES == 0
#define LANES 1
#else
#define SIDE (SLICES == 1 ? 16 : SLICES == 4 ? 8 : 4)
#define CHUNK (16 * SLICES)
#define WEIGHT_QUADS (SIDE * CHANNEL_QUADS)
#define LANES (4 * WEIGHT_QUADS)
#endif

#if FILTER_GIVEN
#define FILTER_PARAMS                                                                    \
  __global const storage_t *restrict filter, const int filter_offset,                    \
      __global const storage_t *restrict bias, const int bias_offset
#define BIAS_OF(channel) (HAS_BIAS ? LOAD(bias, bias_offset + (channel)) : 0.0f)
#else
#define FILTER_PARAMS __global const float *restrict filter, const int bias_floats
#define BIAS_OF(channel) filter[channel]
#endif
#if SHUFFLE
#define PHASES (STRIDE_D * STRIDE_H * STRIDE_W)
#define SHUFFLE_PARAMS , const int4 y_dims, const int4 y_origin
#else
#define PHASES 1
#define SHUFFLE_PARAMS
#endif
#define VOLUME_PARAMS                                                                                   \
  __global const storage_t *restrict x, const int x_offset, __global storage_t *restrict y,             \
      const int y_offset, FILTER_PARAMS, const int4 in, const int4 out, const int4 stride,              \
      const int4 pad, const int4 dilation SHUFFLE_PARAMS EXPRESSION_PARAMS

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

#if SHUFFLE
#define FINISH_LANE(v, step)                                                                  \
  {                                                                                           \
    const int column = (place.z + (step)) * STRIDE_W + phase % STRIDE_W + y_origin.z;         \
    if (place.z + (step) < out.z && column >= 0 && column < y_dims.z) {                       \
      const float4 finished = FINISH_ROWS((float4)(v), row, column);                          \
      STORE(finished.x, y, y_offset + row * y_dims.z + column);                               \
    }                                                                                         \
  }
#define FINISH_QUAD(made, channel)                                                            \
  {                                                                                           \
    const float4 v = made;                                                                    \
    const int phase = (channel) % PHASES;                                                     \
    const int plane = place.x * STRIDE_D + phase / (STRIDE_H * STRIDE_W) + y_origin.x;        \
    const int line = place.y * STRIDE_H + phase / STRIDE_W % STRIDE_H + y_origin.y;           \
    if (plane >= 0 && plane < y_dims.x && line >= 0 && line < y_dims.y) {                     \
      const int y_channel = (n * groups + group) * (out.w / PHASES) + (channel) / PHASES;     \
      const int row = (y_channel * y_dims.x + plane) * y_dims.y + line;                       \
      FINISH_LANE(v.x, 0)                                                                     \
      FINISH_LANE(v.y, 1)                                                                     \
      FINISH_LANE(v.z, 2)                                                                     \
      FINISH_LANE(v.w, 3)                                                                     \
    }                                                                                         \
  }
#else
#define FINISH_QUAD(made, channel)                                                            \
  {                                                                                           \
    const int row = (((n * groups + group) * out.w + (channel)) * out.x + place.x) * out.y + place.y; \
    const float4 finished = FINISH_ROWS(made, row, place.z);                                  \
    StoreQuad(finished, y, y_offset + row * out.z + place.z, out.z - place.z);                \
  }
#endif
#define BIAS_OF_CHANNEL(channel) BIAS_OF((group * out.w + (channel)) / PHASES)

#if SLICES == 0
__kernel void conv_volume_few(VOLUME_PARAMS) {
  const int quad = get_global_id(0), n = get_global_id(2);
  const int groups = stride.w, group = (int)get_global_id(1) / out.w, channel = (int)get_global_id(1) % out.w;
  const int4 place = PlaceOfQuad(quad, out);
  if (place.x >= out.x || group >= groups) return;
  const int4 first = place * (int4)(stride.xyz, 0) - pad;
  const int image = x_offset + (n * groups + group) * in.w * in.x * in.y * in.z, depth = in.w * TAPS;
#if FILTER_GIVEN
  __global const storage_t* from = filter + filter_offset + (group * out.w + channel) * depth;
#else
  __global const storage_t* from =
      (__global const storage_t*)(filter + bias_floats) + (group * out.w + channel) * depth;
#endif
  float4 sum = (float4)(BIAS_OF_CHANNEL(channel));
  for (int k = 0; k < depth; ++k)
    sum = MULTIPLY_ADD(PatchOf(x, image, k, first, in, dilation, stride.z), (float4)(LOAD(from, k)), sum);
  FINISH_QUAD(sum, channel)
}
#else
#if FILTER_GIVEN
#define WEIGHT_PITCH (WEIGHT_QUADS + 1)  // written along the chunk
// Four channels' weights of step `k`, zero beyond the last channel.
static float4 WeightsOf(__global const storage_t* restrict from, const int k, const int depth, const int left) {
  float4 v = (float4)(0.0f);
  if (left > 0) v.x = LOAD(from, k);
  if (left > 1) v.y = LOAD(from, k + depth);
  if (left > 2) v.z = LOAD(from, k + 2 * depth);
  if (left > 3) v.w = LOAD(from, k + 3 * depth);
  return v;
}
#else
#define WEIGHT_PITCH WEIGHT_QUADS
#endif

// The weights of the steps from `k` on for `left` channels.
static void FillWeights(__local float4* weights, __global const storage_t* restrict from, const int k,
                        const int depth, const int left) {
  for (int e = get_local_id(0); e < CHUNK * WEIGHT_QUADS; e += 256) {
#if FILTER_GIVEN
    const int step = e % CHUNK, c = e / CHUNK;
    weights[step * WEIGHT_PITCH + c] = k + step < depth
                                           ? WeightsOf(from + 4 * c * depth, k + step, depth, left - 4 * c)
                                           : (float4)(0.0f);
#else
    const int step = e / WEIGHT_QUADS, c = e % WEIGHT_QUADS;
    weights[step * WEIGHT_PITCH + c] =
        k + step < depth ? LOAD_VEC4(from + (k + step) * LANES, c) : (float4)(0.0f);
#endif
  }
}

// What an item adds up of a chunk: its slice's steps.
static void AddSteps(__local const float4* patches, __local const float4* weights, float4* acc) {
  for (int step = 0; step < 16; ++step) {
    const float4 patch = patches[step * SIDE];
    for (int c = 0; c < CHANNEL_QUADS; ++c) {
      const float4 w = weights[step * WEIGHT_PITCH + c];
      acc[4 * c] = MULTIPLY_ADD(patch, (float4)(w.x), acc[4 * c]);
      acc[4 * c + 1] = MULTIPLY_ADD(patch, (float4)(w.y), acc[4 * c + 1]);
      acc[4 * c + 2] = MULTIPLY_ADD(patch, (float4)(w.z), acc[4 * c + 2]);
      acc[4 * c + 3] = MULTIPLY_ADD(patch, (float4)(w.w), acc[4 * c + 3]);
    }
  }
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void conv_volume(VOLUME_PARAMS) {
  __local float4 patches[CHUNK * SIDE], weights[CHUNK * WEIGHT_PITCH];
  const int item = get_local_id(0), i = item % SIDE, j = item / SIDE % SIDE, slice = item / (SIDE * SIDE);
  const int block = get_global_id(1), left = out.w - block * LANES, depth = in.w * TAPS;
  const int groups = stride.w, group = (int)get_global_id(2) % groups, n = (int)get_global_id(2) / groups;
  const int4 place = PlaceOfQuad((int)get_global_id(0) / 256 * SIDE + i, out);
  const int4 first = place * (int4)(stride.xyz, 0) - pad;
  const bool is_inside = place.x < out.x;
  const int image = x_offset + (n * groups + group) * in.w * in.x * in.y * in.z;
#if FILTER_GIVEN
  __global const storage_t* from = filter + filter_offset + (group * out.w + block * LANES) * depth;
#else
  __global const storage_t* from = (__global const storage_t*)(filter + bias_floats) +
                                   (group * ((out.w + LANES - 1) / LANES) + block) * depth * LANES;
#endif
  float4 acc[4 * CHANNEL_QUADS];
  for (int c = 0; c < 4 * CHANNEL_QUADS; ++c) acc[c] = (float4)(0.0f);

  for (int k = 0; k < depth; k += CHUNK) {
    for (int e = item; e < CHUNK * SIDE; e += 256) {
      const bool has_tap = k + e / SIDE < depth;
      patches[e] = has_tap && is_inside ? PatchOf(x, image, k + e / SIDE, first, in, dilation, stride.z)
                                        : (float4)(0.0f);
    }
    FillWeights(weights, from, k, depth, left);
    barrier(CLK_LOCAL_MEM_FENCE);
    AddSteps(patches + slice * 16 * SIDE + i, weights + slice * 16 * WEIGHT_PITCH + j * CHANNEL_QUADS, acc);
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  for (int c = 0; c < 4 * CHANNEL_QUADS; ++c) {
    const int channel = block * LANES + j * 4 * CHANNEL_QUADS + c;
    float4 sum = acc[c];
#if SLICES > 1
    // The slices take turns: each joins and finishes every SLICES-th channel.
    patches[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = (float4)(0.0f);
    if (slice == c % SLICES)
      for (int s = 0; s < SLICES; ++s) sum += patches[s * SIDE * SIDE + item % (SIDE * SIDE)];
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    if (is_inside && slice == c % SLICES && channel < out.w)
      FINISH_QUAD(sum + BIAS_OF_CHANNEL(channel), channel)
  }
}
#endif
