// Folds rows of [outer, row, inner] to [outer, inner], row-major buffers of integers. Sums and
// products are of 64 bits, and wrap.
//   ITEMS    work-items of a row: 1, or a work-group of so many
//   ELEMENT  the type of x and y
//   FOLD     0 sum, 1 sum of magnitudes, 2 sum of squares, 3 product, 4 maximum, 5 minimum
//   mean     1: divided by the row's length, towards zero
#ifndef ITEMS
#define ITEMS 1
#define ELEMENT int
#define FOLD 0
#endif

#if FOLD == 4
#define JOIN(a, b) max(a, b)
#elif FOLD == 5
#define JOIN(a, b) min(a, b)
#elif FOLD == 3
#define JOIN(a, b) ((long)((ulong)(a) * (ulong)(b)))
#else
#define JOIN(a, b) ((long)((ulong)(a) + (ulong)(b)))
#endif

#if FOLD == 1
#define TERM(v) ((v) < 0 ? (long)(0UL - (ulong)(v)) : (v))
#elif FOLD == 2
#define TERM(v) ((long)((ulong)(v) * (ulong)(v)))
#else
#define TERM(v) (v)
#endif

__kernel void integers(__global const ELEMENT* restrict x, const int x_offset,
                       __global ELEMENT* restrict y, const int y_offset, const int count,
                       const int row, const int inner, const int mean) {
  const int index = get_global_id(0) / ITEMS;
  const int lane = get_global_id(0) % ITEMS;
#if ITEMS == 1
  if (index >= count) return;
#endif
  __global const ELEMENT* from = x + x_offset + index / inner * row * inner + index % inner;
  // Rows have elements, and lanes beyond them what changes nothing.
  long v = FOLD == 3 ? 1 : FOLD < 3 ? 0 : (long)from[0];
  for (int i = lane; i < row; i += ITEMS) {
    const long e = (long)from[i * inner];
    v = JOIN(v, TERM(e));
  }
#if ITEMS > 1
  __local long values[ITEMS];
  values[lane] = v;
  for (int half_of = ITEMS / 2; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_of) values[lane] = JOIN(values[lane], values[lane + half_of]);
  }
  v = values[0];
  if (lane > 0) return;
#endif
  if (mean) v /= row;
  y[y_offset + index] = (ELEMENT)v;
}
