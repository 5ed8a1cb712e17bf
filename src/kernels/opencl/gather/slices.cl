// Slices of [outer, extent, inner] by indices: y[o, k, i] = x[o, indices[k], i], row-major buffers.
// A work-item moves one word: gws = {inner, count, outer}.
//   WORD  one element, or a vector of those that lie in a slice
// inner is in words.
#include "kernels/opencl/gather/index.clh"
#ifndef WORD
#define WORD ELEMENT
#endif

__kernel void slices(__global const ELEMENT* restrict x, const int x_offset,
                     __global const INDEX* restrict indices, const int indices_offset,
                     __global ELEMENT* restrict y, const int y_offset, const int extent,
                     const int count, const int inner) {
  const int i = get_global_id(0);
  const int k = get_global_id(1);
  const int o = get_global_id(2);
  if (i >= inner || k >= count) return;
  const int at = PlaceOf(indices[indices_offset + k], extent);
  __global const WORD* from = (__global const WORD*)(x + x_offset);
  __global WORD* to = (__global WORD*)(y + y_offset);
  to[(o * count + k) * inner + i] = from[(o * extent + at) * inner + i];
}
