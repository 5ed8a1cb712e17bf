// Updates at places that indices name (ScatterElements, ScatterND), row-major buffers. Each element
// of y looks for its updates, so that all runs give the same: `parts` work-items of a group for each
// element, a power of two, take every so many of them and are joined in the end. Updates whose index
// is out of range are left out.
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
#define AT_ONCE ((CHUNK + ITEMS - 1) / ITEMS)

// What a part but the first begins with; the element itself where that changes nothing.
#define BEGIN(x) (x)
#if RULE == 0
#define JOIN(old, v) (v)
#elif RULE == 1
#define JOIN(old, v) ((VALUE)((old) + (v)))
#undef BEGIN
#define BEGIN(x) ((VALUE)0)
#elif RULE == 2
#define JOIN(old, v) ((VALUE)((old) * (v)))
#undef BEGIN
#define BEGIN(x) ((VALUE)1)
#elif RULE == 3
#define JOIN(old, v) ((old) < (v) ? (v) : (old))
#else
#define JOIN(old, v) ((v) < (old) ? (v) : (old))
#endif

#define OF_EIGHT(v) {(v).s0, (v).s1, (v).s2, (v).s3, (v).s4, (v).s5, (v).s6, (v).s7}

// Where AT_ONCE tuples, so many places apart, point to, in slices; -1: out of range, or none of the
// `count`. All are on their way before the first is needed.
static void SlicesOf(__global const INDEX* tuples, const int apart, const int count,
                     const int8 extents, const int8 steps, const int width, int* slices) {
  const int n[8] = OF_EIGHT(extents), s[8] = OF_EIGHT(steps);
#pragma unroll
  for (int k = 0; k < AT_ONCE; ++k) slices[k] = k * apart < count ? 0 : -1;
#pragma unroll
  for (int a = 0; a < 8; ++a) {
    if (a >= width) continue;
    INDEX index[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k)
      index[k] = k * apart < count ? tuples[k * apart * width + a] : (INDEX)0;
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
      const INDEX place = index[k] < 0 ? index[k] + n[a] : index[k];
      const int is_place = place >= 0 && place < n[a];
      slices[k] = is_place && slices[k] >= 0 ? slices[k] + (int)place * s[a] : -1;
    }
  }
}

// The value of an element whose parts are `stride` places apart in a group's local memory; of each
// the last update that it took, -1 if none.
static VALUE Joined(__local const VALUE* values, __local const int* taken, const int stride,
                    const int parts) {
  VALUE value = values[0];
#if RULE == 0
  int last = taken[0];
  for (int p = 1; p < parts; ++p) {
    if (taken[p * stride] <= last) continue;
    last = taken[p * stride];
    value = values[p * stride];
  }
#else
  for (int p = 1; p < parts; ++p)
    if (taken[p * stride] >= 0) value = JOIN(value, values[p * stride]);
#endif
  return value;
}

// gws = elements of y x parts; a group has ITEMS / parts of them, part after part. extents, steps (in
// slices) of the axes that a tuple names, `width` of them. Of 32 updates one after the other a part
// takes all, each second or each fourth.
__kernel void tuples(__global const ELEMENT* restrict x, const int x_offset,
                     __global const INDEX* restrict indices, const int indices_offset,
                     __global const ELEMENT* restrict updates, const int updates_offset,
                     __global ELEMENT* restrict y, const int y_offset, const int8 extents,
                     const int8 steps, const int width, const int count, const int inner,
                     const int elements, const int parts) {
  __local int slices[CHUNK];
  __local uint wanted[CHUNK / 32];  // bits of the updates that some element here takes
  __local VALUE values[ITEMS];
  __local int taken[ITEMS];
  const int lane = get_local_id(0), per_group = ITEMS / parts;
  const int begin = (int)get_global_id(0) / ITEMS * per_group;
  const int part = lane / per_group, e = begin + lane % per_group;
  const int step = max(parts / 4, 1), of_word = parts / step;
  const uint mine = (of_word == 1 ? 0xffffffffu : of_word == 2 ? 0x55555555u : 0x11111111u)
                    << part % of_word;
  const int first = begin / inner, last = (min(begin + per_group, elements) - 1) / inner;
  const int slice = e < elements ? e / inner : -2, i = e % inner;
  VALUE value = e < elements ? VALUE_AT(x, x_offset + e) : (VALUE)0;
  if (part > 0) value = BEGIN(value);
  int newest = -1;
  for (int from = 0; from < count; from += CHUNK) {
    const int n = min(CHUNK, count - from);
    for (int word = lane; word < CHUNK / 32; word += ITEMS) wanted[word] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int at[AT_ONCE];
    SlicesOf(indices + indices_offset + (from + lane) * width, ITEMS, n - lane, extents, steps,
             width, at);
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
      const int m = lane + k * ITEMS;
      if (m < CHUNK) slices[m] = at[k];
      if (at[k] >= first && at[k] <= last) atomic_or(&wanted[m / 32], 1u << m % 32);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int word = part / of_word; word < (n + 31) / 32; word += step) {
      for (uint bits = wanted[word] & mine; bits != 0; bits &= bits - 1) {
        const int m = word * 32 + 31 - (int)clz(bits & (0 - bits));
        if (slices[m] != slice) continue;
        const VALUE update = VALUE_AT(updates, updates_offset + (from + m) * inner + i);
        value = JOIN(value, update);
        newest = from + m;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  // Also where there is one part: PoCL computes other values where a barrier stands under a condition.
  values[lane] = value;
  taken[lane] = newest;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (part == 0) value = Joined(values + lane, taken + lane, per_group, parts);
  if (part == 0 && e < elements) KEEP(value, y, y_offset + e);
}

// gws = elements of y x parts, as above.
//   dims, reach, steps   extents of y and of the updates, and the steps of these, last axis last;
//                        of the axis that is indexed, y's extent and step 0
//   extent, inner        of y along the axis, and of what lies behind it
//   along, step          of the updates along the axis
__kernel void elements(__global const ELEMENT* restrict x, const int x_offset,
                       __global const INDEX* restrict indices, const int indices_offset,
                       __global const ELEMENT* restrict updates, const int updates_offset,
                       __global ELEMENT* restrict y, const int y_offset, const int8 dims,
                       const int8 reach, const int8 steps, const int extent, const int inner,
                       const int along, const int step, const int count, const int parts) {
  __local VALUE values[ITEMS];
  __local int taken[ITEMS];
  const int lane = get_local_id(0), per_group = ITEMS / parts;
  const int part = lane / per_group;
  const int e = (int)get_global_id(0) / ITEMS * per_group + lane % per_group;
  const int d[8] = OF_EIGHT(dims), n[8] = OF_EIGHT(reach), s[8] = OF_EIGHT(steps);
  int rest = e, from = 0, is_inside = e < count;
#pragma unroll
  for (int a = 7; a >= 0; --a) {
    const int at = rest % d[a];
    rest /= d[a];
    is_inside &= at < n[a];
    from += at * s[a];
  }
  VALUE value = e < count ? VALUE_AT(x, x_offset + e) : (VALUE)0;
  if (part > 0) value = BEGIN(value);
  int newest = -1;
  const int place = e / inner % extent, end = is_inside ? along : 0;
  for (int u = part; u < end; u += 4 * parts) {
    // Four on their way at once; one beyond the end names no place.
    INDEX index[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      index[k] = u + k * parts < end ? indices[indices_offset + from + (u + k * parts) * step]
                                     : (INDEX)(-1 - extent);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if ((index[k] < 0 ? index[k] + extent : index[k]) != place) continue;
      newest = u + k * parts;
      const VALUE update = VALUE_AT(updates, updates_offset + from + newest * step);
      value = JOIN(value, update);
    }
  }
  // Also where there is one part: PoCL computes other values where a barrier stands under a condition.
  values[lane] = value;
  taken[lane] = newest;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (part == 0) value = Joined(values + lane, taken + lane, per_group, parts);
  if (part == 0 && e < count) KEEP(value, y, y_offset + e);
}
