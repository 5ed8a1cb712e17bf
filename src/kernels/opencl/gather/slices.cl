// Slices of [outer, extent, inner] by indices: y[o, k, i] = x[o, indices[k], i], row-major buffers.
// A work-item moves one element: gws = {inner, count, outer}.
//   ELEMENT  an unsigned integer as wide as the elements
//   INDEX    int or long; negative ones count from behind, those out of range take the nearest
#ifndef ELEMENT
#define ELEMENT uint
#endif
#ifndef INDEX
#define INDEX long
#endif

__kernel void slices(__global const ELEMENT* restrict x, const int x_offset,
                     __global const INDEX* restrict indices, const int indices_offset,
                     __global ELEMENT* restrict y, const int y_offset, const int extent,
                     const int count, const int inner) {
  const int i = get_global_id(0);
  const int k = get_global_id(1);
  const int o = get_global_id(2);
  if (i >= inner || k >= count) return;
  INDEX index = indices[indices_offset + k];
  if (index < 0) index += extent;
  const int at = clamp((int)index, 0, extent - 1);
  y[y_offset + (o * count + k) * inner + i] = x[x_offset + (o * extent + at) * inner + i];
}
