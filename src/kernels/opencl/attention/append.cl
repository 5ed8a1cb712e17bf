// New keys or values into a cache (cache.clh).
#include "kernels/opencl/attention/cache.clh"

// New rows of `size` elements into the cache `to`: gws = {size, LENGTH, batch * KV_HEADS}.
__kernel void append(__global const float* restrict from, const int from_offset, __global cache_t* restrict to,
                     const int to_offset, __global const LENGTHS* restrict lengths, const int lengths_offset,
                     const int size) {
  const int d = get_global_id(0), row = get_global_id(1), head = get_global_id(2);
  if (d >= size || row >= LENGTH) return;
  const int2 of = LengthsOf(lengths + lengths_offset, head / KV_HEADS);
  from += from_offset + ((head / KV_HEADS * LENGTH + row) * KV_HEADS + head % KV_HEADS) * size;
  StoreElement(from, size, d, to + to_offset + (head * KEYS + of.y + row) * STORED(size));
}

// The same where the cache is not the memory of the past, which has `past_keys`: gws = {size, KEYS, batch * KV_HEADS}.
__kernel void rewrite(__global const float* restrict from, const int from_offset,
                      __global const cache_t* restrict past, const int past_offset, __global cache_t* restrict to,
                      const int to_offset, __global const LENGTHS* restrict lengths, const int lengths_offset,
                      const int size, const int past_keys) {
  const int d = get_global_id(0), key = get_global_id(1), head = get_global_id(2);
  if (d >= size || key >= KEYS) return;
  const int2 of = LengthsOf(lengths + lengths_offset, head / KV_HEADS);
  const int row = key - of.y;
  to += to_offset + (head * KEYS + key) * STORED(size);
  from += from_offset + ((head / KV_HEADS * LENGTH + row) * KV_HEADS + head % KV_HEADS) * size;
  if (row >= LENGTH)
    ClearElement(to, size, d);
  else if (row >= 0)
    StoreElement(from, size, d, to);
  else
    CopyElement(past + past_offset + (head * past_keys + min(key, past_keys - 1)) * STORED(size), size, d, to);
}
