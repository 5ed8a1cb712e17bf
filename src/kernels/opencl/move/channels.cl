// Moves channels between tensors of pixels, out of the pixels that they are in together. A
// work-item makes one pixel: gws = {height * width, channel blocks, batch}.
//   PARTS(f)  in front of this text: f(0) f(1) ... of the tensors that it reads, each with its
//             channel blocks
//   dims      of y
//   table     for each channel of y, in whole pixels, (source, channel); source -1: zero
#include "kernels/opencl/access.clh"

#ifndef PARTS
#define PARTS(f) f(0)
#endif

#define PART_PARAM(i) , TENSOR_IN(x##i), const int x##i##_blocks
#define PART_CASE(i)                                                                          \
  case i:                                                                                     \
    pixel = LOAD4(x##i, (int4)(x##i##_blocks, dims.y, dims.z, dims.w), n, from, row, column); \
    break;

__kernel void channels(TENSOR_OUT(y), const int4 dims,
                       __global const int2* restrict table PARTS(PART_PARAM)) {
  const int place = get_global_id(0);
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (place >= dims.y * dims.z || block >= dims.x) return;
  const int row = place / dims.z, column = place % dims.z;
  float4 pixel = (float4)(0.0f);
  int held_source = -1, held = -1;
  float v[4];
  for (int lane = 0; lane < 4; ++lane) {
    const int2 source = table[block * 4 + lane];
    const int from = source.y / 4;
    if (source.x >= 0 && (source.x != held_source || from != held)) {
      switch (source.x) { PARTS(PART_CASE) }
      held_source = source.x;
      held = from;
    }
    const int at = source.y % 4;
    const float value = at == 0 ? pixel.x : at == 1 ? pixel.y : at == 2 ? pixel.z : pixel.w;
    v[lane] = source.x < 0 ? 0.0f : value;
  }
  const float4 result = (float4)(v[0], v[1], v[2], v[3]);
  STORE4(result, y, dims, n, block, row, column);
}
