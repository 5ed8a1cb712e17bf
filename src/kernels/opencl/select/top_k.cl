// The first k elements of each row in order (TopK): rows of [outer, extent, inner], row-major
// buffers. Elements become numbers of the same order with their positions below them, of which a
// work-group sorts the first ones by Batcher's bitonic network.
//   ITEMS           work-items of a work-group
//   MOST            entries that it holds, a power of two: the first k so far, and what may be
//                   among them
//   ELEMENT         the type of x: of the storage (access.clh) where it is 0, else an integer type
//   SIGNED          of integers: 1 where they have a sign, which comes first in KEY's order
//   LONG_KEYS       1: they have 64 bits, and entries 128
//   LARGEST         1: the largest come first
//   VALUES, PLACES  1: written
#include "kernels/opencl/access.clh"

#ifndef LONG_KEYS
#define LONG_KEYS 0
#endif
#ifndef ITEMS
#define ITEMS 64
#define MOST 256
#define LARGEST 1
#define VALUES 1
#define PLACES 1
#endif
#if LONG_KEYS
#define KEY ulong
#define EACH 4
typedef ulong2 entry_t;
#define ENTRY_OF(key, i) ((entry_t)(key, i))
#define IS_BEHIND(a, b) ((a).x > (b).x || ((a).x == (b).x && (a).y > (b).y))
#define PLACE_OF(entry) ((int)(entry).y)
#define NONE ((entry_t)(ULONG_MAX, ULONG_MAX))
#else
#define KEY uint
#define EACH 8
typedef ulong entry_t;
#define ENTRY_OF(key, i) ((ulong)(key) << 32 | (i))
#define IS_BEHIND(a, b) ((a) > (b))
#define PLACE_OF(entry) ((int)(uint)(entry))
#define NONE ULONG_MAX
#endif
#ifdef ELEMENT
#define KEY_AT(x, i) ((KEY)(x)[i] ^ (KEY)SIGNED << (8 * sizeof(KEY) - 1))
#define COPY(y, to, x, from) (y)[to] = (x)[from]
#else
#define ELEMENT storage_t
#define KEY_AT(x, i) KeyOf(LOAD(x, i))
#define COPY(y, to, x, from) STORE(LOAD(x, from), y, to)
#endif

// Both zeros are one, and NaN is the largest.
static uint KeyOf(const float v) {
  const uint bits = as_uint(v == 0.0f ? 0.0f : v);
  return isnan(v) ? UINT_MAX : bits >> 31 ? ~bits : bits | 0x80000000u;
}

static entry_t EntryOf(__global const ELEMENT* restrict x, const int from, const int inner,
                     const int i) {
  const KEY key = KEY_AT(x, from + i * inner);
  return ENTRY_OF(LARGEST ? ~key : key, (uint)i);
}

// Sorts `count` entries, of which there may be MOST.
static void Sort(__local entry_t* held, const int count, const int lane) {
  int n = 1;
  while (n < count) n *= 2;
  for (int i = count + lane; i < n; i += ITEMS) held[i] = NONE;
  for (int size = 2; size <= n; size *= 2) {
    for (int apart = size / 2; apart > 0; apart /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int p = lane; p < n / 2; p += ITEMS) {
        const int low = (p & ~(apart - 1)) << 1 | (p & (apart - 1));
        const entry_t a = held[low], b = held[low + apart];
        if (IS_BEHIND(a, b) == ((low & size) == 0)) {
          held[low] = b;
          held[low + apart] = a;
        }
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Of a row, or of `entries`.
static entry_t EntryAt(__global const ELEMENT* restrict x, const int from, const int inner,
                       __global const entry_t* entries, const int i) {
  if (entries) return entries[i];
  return EntryOf(x, from, inner, i);
}

#define ENTRY(i) EntryAt(x, from, inner, entries, i)

// The first k of [begin, end) at the front of `held`: of a row, or of `entries`.
static void FirstOnes(__local entry_t* held, __local int* filled,
                      __global const ELEMENT* restrict x, const int from, const int inner,
                      __global const entry_t* entries, const int begin, const int end, const int k) {
  const int lane = get_local_id(0);
  int next = min(end, begin + MOST);
  for (int i = begin + lane; i < next; i += ITEMS) held[i - begin] = ENTRY(i);
  barrier(CLK_LOCAL_MEM_FENCE);
  Sort(held, next - begin, lane);
  for (; next < end; next += ITEMS * EACH) {
    const entry_t limit = held[k - 1];
    if (lane == 0) *filled = k;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = next + lane; i < min(end, next + ITEMS * EACH); i += ITEMS) {
      const entry_t entry = ENTRY(i);
      if (IS_BEHIND(limit, entry)) held[atomic_inc(filled)] = entry;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int count = *filled;
    if (count > k) Sort(held, count, lane);
  }
}

// `count` parts of each long row, `part` elements each: k entries of each.
__kernel void parts(__global const ELEMENT* restrict x, const int x_offset,
                    __global entry_t* restrict entries, const int entries_offset, const int extent,
                    const int inner, const int k, const int part, const int count) {
  __local entry_t held[MOST];
  __local int filled;
  const int row = get_global_id(1), at = get_global_id(0) / ITEMS;
  const int begin = at * part, end = min(extent, begin + part);
  const int from = x_offset + row / inner * extent * inner + row % inner;
  FirstOnes(held, &filled, x, from, inner, 0, begin, end, k);
  const int to = entries_offset + (row * count + at) * k;
  for (int i = get_local_id(0); i < k; i += ITEMS) entries[to + i] = i < end - begin ? held[i] : NONE;
}

// Rows, or with `given` > 0 so many entries of each.
__kernel void rows(__global const ELEMENT* restrict x, const int x_offset,
                   __global const entry_t* entries, const int entries_offset,
#if VALUES
                   __global ELEMENT* restrict values, const int values_offset,
#endif
#if PLACES
                   __global long* restrict places, const int places_offset,
#endif
                   const int extent, const int inner, const int k, const int given) {
  __local entry_t held[MOST];
  __local int filled;
  const int row = get_global_id(0) / ITEMS;
  const int from = x_offset + row / inner * extent * inner + row % inner;
  FirstOnes(held, &filled, x, from, inner, given > 0 ? entries + entries_offset + row * given : 0, 0,
            given > 0 ? given : extent, k);
  for (int i = get_local_id(0); i < k; i += ITEMS) {
    const int place = PLACE_OF(held[i]);
    const int to = row / inner * k * inner + i * inner + row % inner;
#if VALUES
    COPY(values, values_offset + to, x, from + place * inner);
#endif
#if PLACES
    places[places_offset + to] = place;
#endif
  }
}
