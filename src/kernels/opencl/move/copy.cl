// A strided copy between two buffers: y[y_offset + sum c_i * y_strides_i] = x[x_offset + sum c_i *
// x_strides_i] over all coordinates c below `extents` (the last one fastest). A work-item moves one
// element: gws = {last two extents, the six before them}.
//   ELEMENT    an unsigned integer as wide as the elements, or a vector of such
//   COPY_ZERO  1: writes zero and reads nothing
//   TURNED     1: a work-item moves all of the last axis, and gws[0] is the one before it
//   ALIKE      parts of x that are copied alike, each to an output of its own: gws[2]
#ifndef ELEMENT
#define ELEMENT uint
#endif
#ifndef COPY_ZERO
#define COPY_ZERO 0
#endif
#ifndef TURNED
#define TURNED 0
#endif
#ifndef ALIKE
#define ALIKE 1
#endif

__kernel void copy(__global const ELEMENT* restrict x, const int x_base,
                   __global ELEMENT* restrict y, const int y_base, const int x_offset,
                   const int y_offset, const int8 extents, const int8 x_strides,
                   const int8 y_strides
#if ALIKE > 1
                   ,
                   __global ELEMENT* restrict y1, const int y1_base, const int x1_offset
#endif
#if ALIKE > 2
                   ,
                   __global ELEMENT* restrict y2, const int y2_base, const int x2_offset
#endif
#if ALIKE > 3
                   ,
                   __global ELEMENT* restrict y3, const int y3_base, const int x3_offset
#endif
) {
  const int inner = get_global_id(0);
  int rest = get_global_id(1);
  int8 at = (int8)(0);
#if TURNED
  if (inner >= extents.s6) return;
  at.s6 = inner;
#else
  if (inner >= extents.s6 * extents.s7) return;
  at.s7 = inner % extents.s7;
  at.s6 = inner / extents.s7;
#endif
  // Most copies have few axes, and divisions take longer than the copy.
  if (extents.s0 == 1 && extents.s1 == 1 && extents.s2 == 1 && extents.s3 == 1 && extents.s4 == 1) {
    at.s5 = rest;
    if (rest >= extents.s5) return;
  } else {
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
  }
  if (at.s0 >= extents.s0) return;
  const int8 to = at * y_strides;
  const int4 to4 = to.lo + to.hi;
  const int in_y = y_offset + to4.x + to4.y + to4.z + to4.w;
#if COPY_ZERO
  y[y_base + in_y] = (ELEMENT)(0);
#else
  const int8 from = at * x_strides;
  const int4 from4 = from.lo + from.hi;
  const int in_x = x_base + from4.x + from4.y + from4.z + from4.w;
#if TURNED
#define COPY(y, y_base, x_offset)      \
  for (int k = 0; k < extents.s7; ++k) \
  (y)[(y_base) + in_y + k * y_strides.s7] = x[(x_offset) + in_x + k * x_strides.s7]
#else
#define COPY(y, y_base, x_offset) (y)[(y_base) + in_y] = x[(x_offset) + in_x]
#endif
#if ALIKE > 1
  const int part = get_global_id(2);
  if (part == 1) COPY(y1, y1_base, x1_offset);
#if ALIKE > 2
  if (part == 2) COPY(y2, y2_base, x2_offset);
#endif
#if ALIKE > 3
  if (part == 3) COPY(y3, y3_base, x3_offset);
#endif
  if (part == 0)
#endif
    COPY(y, y_base, x_offset);
#endif
}
