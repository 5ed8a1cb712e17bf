// Second stage of a Winograd convolution: one matrix product per place of a patch. A work-item
// computes QUADS channel quads of TILE_W patches:
//   gws = {ceil(patches / TILE_W), blocks of 4 * QUADS output channels, PATCH * PATCH}
//   v       buffer of float4 [place][input quad][patch]
//   m       buffer of float4 [place][output quad][patch]
//   filter  transformed weights from `weights` floats on [place][block][input quad][4 input
//           channels][4 * QUADS output channels]
#define STORE_QUAD(value, quad) \
  if ((quad) < quads.y) vstore4(value, m_offset + (place * quads.y + (quad)) * patches + patch, m);
#include "kernels/opencl/access.clh"
#include "kernels/opencl/conv/tile.clh"

// quads = (of the input, of the output).
__kernel void winograd_product(__global const float* restrict v, const int v_offset,
                               __global float* restrict m, const int m_offset,
                               __global const float* restrict filter, const int weights,
                               const int2 quads, const int patches) {
  const int first = (int)get_global_id(0) * TILE_W;
  const int block = get_global_id(1);
  const int place = get_global_id(2);
  if (first >= patches || block * QUADS >= quads.y) return;

  CHANNELS acc[TILE_W];
#pragma unroll
  for (int t = 0; t < TILE_W; ++t) acc[t] = (CHANNELS)(0.0f);
  const int blocks = (quads.y + QUADS - 1) / QUADS;
  __global const float* w = filter + weights + (place * blocks + block) * quads.x * 4 * LANES;
  for (int quad = 0; quad < quads.x; ++quad) {
    const CHANNELS w0 = LOAD_BIAS(w, quad * 4), w1 = LOAD_BIAS(w, quad * 4 + 1);
    const CHANNELS w2 = LOAD_BIAS(w, quad * 4 + 2), w3 = LOAD_BIAS(w, quad * 4 + 3);
    const int line = v_offset + (place * quads.x + quad) * patches;
#pragma unroll
    for (int t = 0; t < TILE_W; ++t) {
      const float4 d = vload4(line + min(first + t, patches - 1), v);
      ADD_QUAD(acc[t], d, w0, w1, w2, w3);
    }
  }
#pragma unroll
  for (int t = 0; t < TILE_W; ++t) {
    const int patch = first + t;
    if (patch < patches) {
      STORE_CHANNELS(acc[t], block * QUADS)
    }
  }
}
