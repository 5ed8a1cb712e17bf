// Operands of products in blocks (block_product/units.clh) as halves (halves.clh), and the factor of each of their rows.
// A work-group makes a row: lws = {HALF_ITEMS}, gws = {rows * HALF_ITEMS}.
//   halve_rounded  rows of floats, rounded to bytes times the step of their block
//   halve_codes    rows of weights
#include "kernels/opencl/block_product/units.clh"
#define DEPTH (BLOCKS * BLOCK)
#include "kernels/opencl/many_rows/halves.clh"

__kernel __attribute__((reqd_work_group_size(HALF_ITEMS, 1, 1))) void halve_rounded(
    __global const float* restrict x, const int x_offset, __global uint4* restrict halves, const int halves_offset,
    __global float* restrict factors, const int factors_offset) {
  __local float partial[HALF_ITEMS];
  const int item = get_local_id(0), row = get_global_id(0) / HALF_ITEMS;
  __global const float* from = x + x_offset + row * DEPTH;
  __global ushort* to = (__global ushort*)(halves + halves_offset) + (long)row * 2 * DEPTH;
  float greatest = 0.0f;
  for (int i = item; i < DEPTH / 4; i += HALF_ITEMS) greatest = fmax(greatest, GreatestOf4(FourFloats(from + i * 4)));
  const float2 powers = PowersOf(GreatestOf(greatest, partial, item));
  for (int block = item; block < BLOCKS; block += HALF_ITEMS) {
    int bytes[BLOCK / 4];
    float sums[UNITS_OF_BLOCK];
    const float step = RoundBlock(from + block * BLOCK, from, 1.0f, bytes, sums) * powers.x;
#pragma unroll
    for (int i = 0; i < BLOCK / 4; ++i)
      StoreHalves(convert_float4(as_char4(bytes[i])) * step, to, block * BLOCK + i * 4);
  }
  if (item == 0) factors[factors_offset + row] = powers.y;
}

// Four codes, in the low bits of bytes.
static void StoreCodes(const uint codes, const float2 pair, __global ushort* row, const int at) {
  StoreHalves(convert_float4(as_uchar4(codes)) * pair.x + pair.y, row, at);
}
#if BITS == 8
#define STORE_UNIT(of, pair, to, at)      \
  StoreCodes(of.x, pair, to, at);         \
  StoreCodes(of.y, pair, to, (at) + 4);   \
  StoreCodes(of.z, pair, to, (at) + 8);   \
  StoreCodes(of.w, pair, to, (at) + 12);
#elif BLOCK == 32
#define STORE_UNIT(of, pair, to, at)                              \
  StoreCodes(of.x & 0x0f0f0f0fu, pair, to, at);                   \
  StoreCodes(of.y & 0x0f0f0f0fu, pair, to, (at) + 4);             \
  StoreCodes(of.z & 0x0f0f0f0fu, pair, to, (at) + 8);             \
  StoreCodes(of.w & 0x0f0f0f0fu, pair, to, (at) + 12);            \
  StoreCodes(of.x >> 4 & 0x0f0f0f0fu, pair, to, (at) + 16);       \
  StoreCodes(of.y >> 4 & 0x0f0f0f0fu, pair, to, (at) + 20);       \
  StoreCodes(of.z >> 4 & 0x0f0f0f0fu, pair, to, (at) + 24);       \
  StoreCodes(of.w >> 4 & 0x0f0f0f0fu, pair, to, (at) + 28);
#else
#define STORE_UNIT(of, pair, to, at)                              \
  StoreCodes(of.x & 0x0f0f0f0fu, pair, to, at);                   \
  StoreCodes(of.y & 0x0f0f0f0fu, pair, to, (at) + 4);             \
  StoreCodes(of.x >> 4 & 0x0f0f0f0fu, pair, to, (at) + 8);        \
  StoreCodes(of.y >> 4 & 0x0f0f0f0fu, pair, to, (at) + 12);
#endif

__kernel __attribute__((reqd_work_group_size(HALF_ITEMS, 1, 1))) void halve_codes(
    __global const codes_t* restrict codes, const int codes_offset, __global const pair_t* restrict pairs,
    const int pairs_offset, __global uint4* restrict halves, const int halves_offset, __global float* restrict factors,
    const int factors_offset) {
  __local float partial[HALF_ITEMS];
  const int item = get_local_id(0), row = get_global_id(0) / HALF_ITEMS;
  __global ushort* to = (__global ushort*)(halves + halves_offset) + (long)row * 2 * DEPTH;
  codes += codes_offset + row * UNITS;
  pairs += pairs_offset + row * BLOCKS;
  float greatest = 0.0f;
  for (int block = item; block < BLOCKS; block += HALF_ITEMS) {
    const float2 pair = fabs(PairOf(pairs[block]));
    greatest = fmax(greatest, pair.x * (BITS == 4 ? 15.0f : 255.0f) + pair.y);
  }
  const float2 powers = PowersOf(GreatestOf(greatest, partial, item));
  for (int unit = item; unit < UNITS; unit += HALF_ITEMS) {
    const float2 pair = PairOf(pairs[unit / UNITS_OF_BLOCK]) * powers.x;
    const codes_t of = codes[unit];
    STORE_UNIT(of, pair, to, unit * UNIT)
  }
  if (item == 0) factors[factors_offset + row] = powers.y;
}
