// Rows of floats [rows][DEPTH] as halves [rows][2][DEPTH] (halves.clh), and the factor of each.
// lws = {HALF_ITEMS}, gws = {rows * HALF_ITEMS}.
#ifndef DEPTH
#define DEPTH 2048
#endif
#include "kernels/opencl/many_rows/halves.clh"

__kernel __attribute__((reqd_work_group_size(HALF_ITEMS, 1, 1))) void halve_rows(
    __global const float* restrict x, const int x_offset, __global uint4* restrict halves, const int halves_offset,
    __global float* restrict factors, const int factors_offset) {
  __local float partial[HALF_ITEMS];
  const int item = get_local_id(0), row = get_global_id(0) / HALF_ITEMS;
  __global const float* from = x + x_offset + row * DEPTH;
  __global ushort* to = (__global ushort*)(halves + halves_offset) + (long)row * 2 * DEPTH;
  float greatest = 0.0f;
  for (int i = item; i < DEPTH / 4; i += HALF_ITEMS) greatest = fmax(greatest, GreatestOf4(vload4(i, from)));
  const float2 powers = PowersOf(GreatestOf(greatest, partial, item));
  for (int i = item; i < DEPTH / 4; i += HALF_ITEMS) StoreHalves(vload4(i, from) * powers.x, to, i * 4);
  if (item == 0) factors[factors_offset + row] = powers.y;
}
