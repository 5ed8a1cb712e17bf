// Padding of buffers in one launch: y[c] = x[the sum over axes of where coordinate c of the axis comes from], or the
// fill where one of them comes from nowhere. Axes are counted from the outermost, missing ones have extent 1; a
// work-item makes one element: gws = {axis 4, axis 3, axes 0 to 2}.
//   BASE, WIDTH  an element is WIDTH unsigned integers that lie and are moved together, all of which the fill replaces
//   HAS_FILL     0: zero
//   firsts       where an axis begins in `table`, which holds offsets in x, -1 where the fill goes; below 0: the axis is
//                taken as it is, `steps` apart in x
#ifndef BASE
#define BASE uint
#endif
#ifndef WIDTH
#define WIDTH 1
#endif
#ifndef HAS_FILL
#define HAS_FILL 1
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if WIDTH == 1
#define ELEMENT BASE
#else
#define ELEMENT JOIN(BASE, WIDTH)
#endif

static int SourceOf(__global const int* restrict table, const int first, const int step, const int i) {
  return first < 0 ? i * step : table[first + i];
}

__kernel void pad(__global const ELEMENT* restrict x, const int x_offset, __global ELEMENT* restrict y,
                  const int y_offset, __global const BASE* restrict fill, const int fill_offset,
                  __global const int* restrict table, const int8 extents, const int8 firsts, const int8 steps) {
  const int i4 = get_global_id(0), i3 = get_global_id(1), rest = get_global_id(2);
  const int i2 = rest % extents.s2, i1 = rest / extents.s2 % extents.s1, i0 = rest / extents.s2 / extents.s1;
  if (i4 >= extents.s4 || i3 >= extents.s3 || i0 >= extents.s0) return;
  const int from0 = SourceOf(table, firsts.s0, steps.s0, i0);
  const int from1 = SourceOf(table, firsts.s1, steps.s1, i1);
  const int from2 = SourceOf(table, firsts.s2, steps.s2, i2);
  const int from3 = SourceOf(table, firsts.s3, steps.s3, i3);
  const int from4 = SourceOf(table, firsts.s4, steps.s4, i4);
  const bool is_inside = from0 >= 0 && from1 >= 0 && from2 >= 0 && from3 >= 0 && from4 >= 0;
  ELEMENT v = (ELEMENT)(HAS_FILL ? fill[fill_offset] : (BASE)0);
  if (is_inside) v = x[x_offset + from0 + from1 + from2 + from3 + from4];
  y[y_offset + (rest * extents.s3 + i3) * extents.s4 + i4] = v;
}
