// The matrix instructions of gemm/mma.clh over and over in registers: eight sums of 16 x 8 for each warp.
// Factors are `word`, which holds ones, all over. gws = {work-items}, lws = {128, 1, 1};
// out [work-items]: the sum of an item's part.
//   FACTORS  0: two f16 a word, 1: one f32 as TF32, 2: four i8
#include "kernels/opencl/gemm/mma.clh"
#ifndef FACTORS
#define FACTORS 0
#endif

#define ITEMS 128
#if FACTORS == 0
#define SUM float
#define MULTIPLY_ADD MultiplyAddHalves
#elif FACTORS == 1
#define SUM float
#define MULTIPLY_ADD MultiplyAddFloats
#else
#define SUM int
#define MULTIPLY_ADD MultiplyAddSignedBytes
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void probe_mma_rate(
    __global float* restrict out, const uint word, const int rounds) {
  __local uchar memory[128] __attribute__((aligned(128)));
  DECLARE_WARP(memory, ITEMS)
  const int item = get_local_id(0);
  uint a[4] = {word, word, word, word}, b[2] = {word, word};
  SUM sums[8][4];
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 4; ++i) sums[j][i] = 0;
  for (int r = 0; r < rounds; ++r) {
    UNROLL_INSTRUCTIONS
    for (int j = 0; j < 8; ++j) MULTIPLY_ADD(sums[j], a, b, WARP_ARGS);
  }
  SUM total = 0;
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 4; ++i) total += sums[j][i];
  out[get_group_id(0) * ITEMS + item] = total;
}
