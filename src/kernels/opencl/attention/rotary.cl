// RotaryEmbedding of packed rows [batch, length, heads * size] from a first position on, which lies in memory:
// pairs of the first 2 * half elements of a head are turned. gws = {ceil(size / 2), heads, rows}.
//   next, step   of the pair i: elements i * step and i * step + next
__kernel void rotary(__global const float* restrict x, const int x_offset,
                     __global const float* restrict cosines, const int cosines_offset,
                     __global const float* restrict sines, const int sines_offset,
                     __global const long* restrict first, const int first_offset,
                     __global float* restrict y, const int y_offset, const int heads, const int size,
                     const int half_rotated, const int next, const int step, const int length,
                     const int positions, const int cache_row) {
  const int i = get_global_id(0), head = get_global_id(1), row = get_global_id(2);
  if (i >= (size + 1) / 2 || head >= heads) return;
  __global const float* from = x + x_offset + (row * heads + head) * size;
  __global float* to = y + y_offset + (row * heads + head) * size;
  if (i < half_rotated) {
    // Positions outside of the caches cannot be reported here.
    const int position = clamp((int)first[first_offset] + row % length, 0, positions - 1);
    const float c = cosines[cosines_offset + position * cache_row + i];
    const float s = sines[sines_offset + position * cache_row + i];
    const float a = from[i * step], b = from[i * step + next];
    to[i * step] = a * c - b * s;
    to[i * step + next] = a * s + b * c;
  }
  // What is not turned, a pair of neighbours each.
  for (int j = 2 * i; j < min(2 * i + 2, size); ++j)
    if (j >= 2 * half_rotated) to[j] = from[j];
}
