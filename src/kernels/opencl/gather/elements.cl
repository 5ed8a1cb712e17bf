// Elements by indices along one axis: y[c] = x[c with c[axis] = indices[c]], row-major buffers.
// A work-item moves one element: gws = {elements of y}.
//   dims, steps   extents of y, and steps of x along them, last axis last; the axis has step 0
//   extent, step  of x along the axis
#include "kernels/opencl/gather/index.clh"

__kernel void elements(__global const ELEMENT* restrict x, const int x_offset,
                       __global const INDEX* restrict indices, const int indices_offset,
                       __global ELEMENT* restrict y, const int y_offset, const int8 dims,
                       const int8 steps, const int count, const int extent, const int step) {
  const int e = get_global_id(0);
  if (e >= count) return;
  int d[8], s[8];
  vstore8(dims, 0, d);
  vstore8(steps, 0, s);
  int rest = e, from = x_offset;
  for (int a = 7; a >= 0; --a) {
    from += rest % d[a] * s[a];
    rest /= d[a];
  }
  y[y_offset + e] = x[from + PlaceOf(indices[indices_offset + e], extent) * step];
}
