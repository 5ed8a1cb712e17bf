// The matrix instructions of gemm/mma.clh over and over in registers: eight sums of 16 x 8 for each warp.
// Factors are `pair`, two f16, all over. gws = {work-items}, lws = {128, 1, 1}; out [work-items]: the
// sum of an item's part.
#include "kernels/opencl/gemm/mma.clh"

#define ITEMS 128

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void probe_mma_rate(
    __global float* restrict out, const uint pair, const int rounds) {
  __local uchar memory[128] __attribute__((aligned(128)));
  DECLARE_WARP(memory, ITEMS)
  const int item = get_local_id(0);
  uint a[4] = {pair, pair, pair, pair}, b[2] = {pair, pair};
  float sums[8][4];
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 4; ++i) sums[j][i] = 0.0f;
  for (int r = 0; r < rounds; ++r) {
    UNROLL_INSTRUCTIONS
    for (int j = 0; j < 8; ++j) MultiplyAddHalves(sums[j], a, b, WARP_ARGS);
  }
  float total = 0.0f;
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 4; ++i) total += sums[j][i];
  out[get_group_id(0) * ITEMS + item] = total;
}
