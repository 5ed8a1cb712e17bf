// A strided copy between two buffers: y[y_offset + sum c_i * y_strides_i] = x[x_offset + sum c_i *
// x_strides_i] over all coordinates c below `extents` (the last one fastest). A work-item moves one
// element: gws = {last two extents, the six before them}.
//   ELEMENT    an unsigned integer as wide as the elements, or a vector of such
//   COPY_ZERO  1: writes zero and reads nothing
#ifndef ELEMENT
#define ELEMENT uint
#endif
#ifndef COPY_ZERO
#define COPY_ZERO 0
#endif

__kernel void copy(__global const ELEMENT* restrict x, const int x_base,
                   __global ELEMENT* restrict y, const int y_base, const int x_offset,
                   const int y_offset, const int8 extents, const int8 x_strides,
                   const int8 y_strides) {
  const int inner = get_global_id(0);
  int rest = get_global_id(1);
  if (inner >= extents.s6 * extents.s7) return;
  int8 at;
  at.s7 = inner % extents.s7;
  at.s6 = inner / extents.s7;
  at.s5 = rest % extents.s5;
  rest /= extents.s5;
  at.s4 = rest % extents.s4;
  rest /= extents.s4;
  at.s3 = rest % extents.s3;
  rest /= extents.s3;
  at.s2 = rest % extents.s2;
  rest /= extents.s2;
  at.s1 = rest % extents.s1;
  at.s0 = rest / extents.s1;
  if (at.s0 >= extents.s0) return;
  const int8 to = at * y_strides;
  const int4 to4 = to.lo + to.hi;
  const int at_y = y_base + y_offset + to4.x + to4.y + to4.z + to4.w;
#if COPY_ZERO
  y[at_y] = (ELEMENT)(0);
#else
  const int8 from = at * x_strides;
  const int4 from4 = from.lo + from.hi;
  y[at_y] = x[x_base + x_offset + from4.x + from4.y + from4.z + from4.w];
#endif
}
