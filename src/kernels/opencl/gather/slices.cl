// Slices of [outer, extent, inner] by indices: y[o, k, i] = x[o, indices[k], i], row-major buffers.
// A work-item moves one element: gws = {inner, count, outer}.
#include "kernels/opencl/gather/index.clh"

__kernel void slices(__global const ELEMENT* restrict x, const int x_offset,
                     __global const INDEX* restrict indices, const int indices_offset,
                     __global ELEMENT* restrict y, const int y_offset, const int extent,
                     const int count, const int inner) {
  const int i = get_global_id(0);
  const int k = get_global_id(1);
  const int o = get_global_id(2);
  if (i >= inner || k >= count) return;
  const int at = PlaceOf(indices[indices_offset + k], extent);
  y[y_offset + (o * count + k) * inner + i] = x[x_offset + (o * extent + at) * inner + i];
}
