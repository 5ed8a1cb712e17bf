// Running sums and products along rows of [outer, row, inner], row-major buffers.
//   ITEMS    work-items of a row: 1, or a work-group of so many, each with a stretch of the row
//   ELEMENT  the type of x and y: of the storage (access.clh) where it is none, else an integer
//            type, whose sums wrap
//   PRODUCT  1: products, 0: sums
//   rule     1: an element is not part of its own result; 2: from the end
#include "kernels/opencl/access.clh"

#ifndef ITEMS
#define ITEMS 1
#endif
#ifndef PRODUCT
#define PRODUCT 0
#endif
#ifdef ELEMENT
#define VALUE ELEMENT
#define VALUE_AT(x, i) ((x)[i])
#define PUT(v, y, i) ((y)[i] = (v))
#else
#define ELEMENT storage_t
#define VALUE float
#define VALUE_AT(x, i) LOAD(x, i)
#define PUT(v, y, i) STORE(v, y, i)
#endif
#if PRODUCT
#define JOINED(a, b) ((a) * (b))
#else
#define JOINED(a, b) ((a) + (b))
#endif

__kernel void scan(__global const ELEMENT* restrict x, const int x_offset,
                   __global ELEMENT* restrict y, const int y_offset, const int count, const int row,
                   const int inner, const int rule) {
  const int index = get_global_id(0) / ITEMS;
  const int lane = get_global_id(0) % ITEMS;
#if ITEMS == 1
  if (index >= count) return;
#endif
  const int first = index / inner * row * inner + index % inner;
  const int stretch = (row + ITEMS - 1) / ITEMS;
  const int begin = min(lane * stretch, row), end = min(begin + stretch, row);
  VALUE sum = PRODUCT;
#if ITEMS > 1
  __local VALUE sums[ITEMS];
  for (int i = begin; i < end; ++i) {
    const int at = first + ((rule & 2) ? row - 1 - i : i) * inner;
    sum = JOINED(sum, VALUE_AT(x, x_offset + at));
  }
  sums[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = PRODUCT;
  for (int other = 0; other < lane; ++other) sum = JOINED(sum, sums[other]);
#endif
  for (int i = begin; i < end; ++i) {
    const int at = first + ((rule & 2) ? row - 1 - i : i) * inner;
    const VALUE next = JOINED(sum, VALUE_AT(x, x_offset + at));
    PUT((rule & 1) ? sum : next, y, y_offset + at);
    sum = next;
  }
}
