// Whether the instruction of binary/bit_mma.clh counts what it should. One work-group: gws = lws =
// {32, 1, 1}.
//   a, b  256 bits a row, [16] and [16 columns]
//   out   int, 8 counts of each work-item: of the first eight columns and of the others
#include "kernels/opencl/binary/bit_mma.clh"

// Rows of 32 bytes.
#define B_AT 512

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void probe_bit_mma(
    __global const uint4* restrict a, __global const uint4* restrict b,
    __global int* restrict out) {
  __local uchar memory[1024] __attribute__((aligned(128)));
  DECLARE_WARP(memory, 32)
  const int item = get_local_id(0);
  COPY_16(item * 16, a + item, 16);
  COPY_16(B_AT + item * 16, b + item, 16);
  COMMIT_COPIES;
  WAIT_COPIES(0);
  barrier(CLK_LOCAL_MEM_FENCE);

  uint rows[4], columns[4];
  LoadMatrices(rows, (item & 15) * 32 + (item >> 4) * 16, WARP_ARGS);
  LoadMatrices(columns, B_AT + ((item & 7) + (item >> 4) * 8) * 32 + (item >> 3 & 1) * 16,
               WARP_ARGS);
  int counts[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  CountPairs(counts[0], rows, columns, WARP_ARGS);
  CountPairs(counts[1], rows, columns + 2, WARP_ARGS);
  for (int i = 0; i < 4; ++i) {
    out[item * 8 + i] = counts[0][i];
    out[item * 8 + 4 + i] = counts[1][i];
  }
}
