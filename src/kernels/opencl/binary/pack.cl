// PackBits: signs of floats in words of 64 channels, [batch][height][width][group * words]. A
// work-item makes half a word of a place:
//   gws = {height * width, halves of words, batch}
//   x     pixels of floats (access.clh), or ROWS: row-major [width][channels], batch and height 1
//   bits  as uint, the lower half of a word first
#ifndef ROWS
#define ROWS 0
#endif
#include "kernels/opencl/access.clh"
#include "kernels/opencl/binary/sign_bits.clh"

#if ROWS
#define INPUT __global const storage_t *restrict x, const int x_offset
#else
#define INPUT TENSOR_IN(x)
#endif

// dims = (quads of channels, height, width, batch); groups = (channels of a group, halves of words of
// a group, all channels).
__kernel void binary_pack(INPUT, __global uint* restrict bits, const int bits_offset, const int4 dims,
                          const int4 groups, const int4 packing) {
  const int place = get_global_id(0);
  const int half_word = get_global_id(1);
  const int n = get_global_id(2);
  const int halves = groups.z / groups.x * groups.y;
  if (place >= dims.y * dims.z || half_word >= halves) return;
  const int first = half_word / groups.y * groups.x + half_word % groups.y * 32;
  const int count = min(32, groups.x - half_word % groups.y * 32);
  uint word = 0;
#if ROWS
  __global const storage_t* from = x + x_offset + place * groups.z + first;
  for (int i = 0; i < count; ++i)
    word |= PackFour((float4)(LOAD(from, i)), packing, 1) << i;
#else
  // A group may begin within a quad.
  const int row = place / dims.z, column = place % dims.z, shift = first % 4;
  for (int i = 0; i < count + shift; i += 4) {
    const uint four = PackFour(LOAD4(x, dims, n, (first + i) / 4, row, column), packing, 4);
    word |= i < shift ? four >> shift : four << (i - shift);
  }
  if (count <= 0) {
    word = 0;
  } else if (count < 32) {
    word &= (1u << count) - 1;
  }
#endif
  bits[bits_offset + (n * dims.y * dims.z + place) * halves + half_word] = word;
}
