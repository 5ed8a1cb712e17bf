// Positions of extremes: rows of [outer, row, inner] to [outer, inner] of long, row-major buffers.
// NaN is more extreme than any number; of equal values the first counts, or the last.
//   ITEMS    work-items of a row: 1, or a work-group of so many
//   ELEMENT  the type of x: of the storage (access.clh) where it is 0, else an integer type
//   rule     1: the greatest; 2: the last of equal ones
#include "kernels/opencl/access.clh"

#ifndef ITEMS
#define ITEMS 1
#endif
#ifdef ELEMENT
#define VALUE long
#define VALUE_AT(x, i) ((long)(x)[i])
#define IS_NAN(v) 0
#else
#define ELEMENT storage_t
#define VALUE float
#define VALUE_AT(x, i) LOAD(x, i)
#define IS_NAN(v) isnan(v)
#endif

// Whether v at i stands before the best so far, at b.
static int IsBefore(const VALUE v, const int i, const VALUE best, const int b, const int rule) {
  if (b < 0) return 1;
  const int is_nan = IS_NAN(v), was_nan = IS_NAN(best);
  if (is_nan != was_nan) return is_nan;
  if (!is_nan && v != best) return (rule & 1) ? v > best : v < best;
  return (rule & 2) ? i > b : i < b;
}

__kernel void arg(__global const ELEMENT* restrict x, const int x_offset, __global long* restrict y,
                  const int y_offset, const int count, const int row, const int inner,
                  const int rule) {
  const int index = get_global_id(0) / ITEMS;
  const int lane = get_global_id(0) % ITEMS;
#if ITEMS == 1
  if (index >= count) return;
#endif
  const int from = x_offset + index / inner * row * inner + index % inner;
  VALUE best = 0;
  int at = -1;
  for (int i = lane; i < row; i += ITEMS) {
    const VALUE v = VALUE_AT(x, from + i * inner);
    if (IsBefore(v, i, best, at, rule)) {
      best = v;
      at = i;
    }
  }
#if ITEMS > 1
  __local VALUE values[ITEMS];
  __local int places[ITEMS];
  values[lane] = best;
  places[lane] = at;
  for (int half_of = ITEMS / 2; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int other = lane + half_of;
    if (lane < half_of && places[other] >= 0 &&
        IsBefore(values[other], places[other], values[lane], places[lane], rule)) {
      values[lane] = values[other];
      places[lane] = places[other];
    }
  }
  if (lane == 0) y[y_offset + index] = places[0];
#else
  y[y_offset + index] = at;
#endif
}
