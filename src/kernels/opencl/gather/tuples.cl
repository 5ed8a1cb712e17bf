// Slices by tuples of indices: y[o, m, i] = x[o, tuple m of o, i], row-major buffers.
// A work-item moves one element: gws = {inner, tuples, outer}.
//   extents, steps of the axes that a tuple names, `width` of them
#include "kernels/opencl/gather/index.clh"

__kernel void tuples(__global const ELEMENT* restrict x, const int x_offset,
                     __global const INDEX* restrict indices, const int indices_offset,
                     __global ELEMENT* restrict y, const int y_offset, const int8 extents,
                     const int8 steps, const int width, const int count, const int inner,
                     const int slice) {
  const int i = get_global_id(0);
  const int m = get_global_id(1);
  const int o = get_global_id(2);
  if (i >= inner || m >= count) return;
  int n[8], s[8];
  vstore8(extents, 0, n);
  vstore8(steps, 0, s);
  int from = x_offset + o * slice + i;
  __global const INDEX* tuple = indices + indices_offset + (o * count + m) * width;
  for (int a = 0; a < width; ++a) from += PlaceOf(tuple[a], n[a]) * s[a];
  y[y_offset + (o * count + m) * inner + i] = x[from];
}
