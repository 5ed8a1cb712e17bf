// Updates at places that indices name (ScatterElements, ScatterND), row-major buffers. Each element
// of y looks for its updates and takes them in their order, so that all runs give the same.
// Updates whose index is out of range are left out.
//   RULE     0: the last one stays; 1: the sum; 2: the product; 3: the greatest; 4: the least
//   ELEMENT  the type of x: of the storage (access.clh) where it is 0, else an integer type
//   ITEMS    work-items of a work-group
#include "kernels/opencl/access.clh"

#ifdef ELEMENT
#define VALUE ELEMENT
#define VALUE_AT(x, i) ((x)[i])
#define KEEP(v, y, i) (y)[i] = (v)
#define IS_NAN(v) 0
#else
#define ELEMENT storage_t
#define VALUE float
#define VALUE_AT(x, i) LOAD(x, i)
#define KEEP(v, y, i) STORE(v, y, i)
#endif
#include "kernels/opencl/gather/index.clh"

#ifndef RULE
#define RULE 1
#define ITEMS 256
#endif
#define CHUNK 1024

#if RULE == 0
#define JOIN(old, v) (v)
#elif RULE == 1
#define JOIN(old, v) ((VALUE)((old) + (v)))
#elif RULE == 2
#define JOIN(old, v) ((VALUE)((old) * (v)))
#elif RULE == 3
#define JOIN(old, v) ((old) < (v) ? (v) : (old))
#else
#define JOIN(old, v) ((v) < (old) ? (v) : (old))
#endif

// Where a tuple points to, in slices; -1: out of range.
static int SliceOf(__global const INDEX* tuple, const int8 extents, const int8 steps,
                   const int width) {
  int n[8], s[8];
  vstore8(extents, 0, n);
  vstore8(steps, 0, s);
  int slice = 0;
  for (int a = 0; a < width; ++a) {
    const INDEX place = tuple[a] < 0 ? tuple[a] + n[a] : tuple[a];
    if (place < 0 || place >= n[a]) return -1;
    slice += (int)place * s[a];
  }
  return slice;
}

// gws = elements of y. extents, steps (in slices) of the axes that a tuple names, `width` of them.
__kernel void tuples(__global const ELEMENT* restrict x, const int x_offset,
                     __global const INDEX* restrict indices, const int indices_offset,
                     __global const ELEMENT* restrict updates, const int updates_offset,
                     __global ELEMENT* restrict y, const int y_offset, const int8 extents,
                     const int8 steps, const int width, const int count, const int inner,
                     const int elements) {
  __local int slices[CHUNK];
  __local uint wanted[CHUNK / 32];  // bits of the updates that some element here takes
  const int lane = get_local_id(0), e = get_global_id(0);
  const int begin = e - lane;
  const int first = begin / inner, last = (min(begin + ITEMS, elements) - 1) / inner;
  const int slice = e < elements ? e / inner : -2, i = e % inner;
  VALUE value = e < elements ? VALUE_AT(x, x_offset + e) : (VALUE)0;
  for (int from = 0; from < count; from += CHUNK) {
    const int n = min(CHUNK, count - from);
    for (int word = lane; word < CHUNK / 32; word += ITEMS) wanted[word] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = lane; m < n; m += ITEMS) {
      const int at = SliceOf(indices + indices_offset + (from + m) * width, extents, steps, width);
      slices[m] = at;
      if (at >= first && at <= last) atomic_or(&wanted[m / 32], 1u << m % 32);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int word = 0; word < (n + 31) / 32; ++word) {
      for (uint bits = wanted[word]; bits != 0; bits &= bits - 1) {
        const int m = word * 32 + 31 - (int)clz(bits & (0 - bits));
        if (slices[m] != slice) continue;
        const VALUE update = VALUE_AT(updates, updates_offset + (from + m) * inner + i);
        value = JOIN(value, update);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (e < elements) KEEP(value, y, y_offset + e);
}

// gws = elements of y.
//   dims, reach, steps   extents of y and of the updates, and the steps of these, last axis last;
//                        of the axis that is indexed, y's extent and step 0
//   extent, inner        of y along the axis, and of what lies behind it
//   along, step          of the updates along the axis
__kernel void elements(__global const ELEMENT* restrict x, const int x_offset,
                       __global const INDEX* restrict indices, const int indices_offset,
                       __global const ELEMENT* restrict updates, const int updates_offset,
                       __global ELEMENT* restrict y, const int y_offset, const int8 dims,
                       const int8 reach, const int8 steps, const int extent, const int inner,
                       const int along, const int step, const int count) {
  const int e = get_global_id(0);
  if (e >= count) return;
  int d[8], n[8], s[8];
  vstore8(dims, 0, d);
  vstore8(reach, 0, n);
  vstore8(steps, 0, s);
  int rest = e, from = 0, is_inside = 1;
  for (int a = 7; a >= 0; --a) {
    const int at = rest % d[a];
    rest /= d[a];
    is_inside &= at < n[a];
    from += at * s[a];
  }
  VALUE value = VALUE_AT(x, x_offset + e);
  const int place = e / inner % extent;
  for (int u = 0; is_inside && u < along; ++u) {
    const INDEX index = indices[indices_offset + from + u * step];
    if ((index < 0 ? index + extent : index) != place) continue;
    const VALUE update = VALUE_AT(updates, updates_offset + from + u * step);
    value = JOIN(value, update);
  }
  KEEP(value, y, y_offset + e);
}
