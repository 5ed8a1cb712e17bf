// Whether the instructions of gemm/mma.clh compute what they should, in LOCAL_BYTES of local memory
// all of which hold what is written to them. One work-group: gws = lws = {32, 1, 1}.
//   a, b  f16 [16][16] and [16 columns][16]
//   out   f32, 24 sums of each work-item: a * b by plain and by transposed loads, of which the latter
//         take b as [16][16]; then, with plain loads, of a and b as [16][32] bytes (those of a without
//         and with signs), as [16][8] floats (FloatOf), and as [16][16] bf16 (BFloatsOf); then whether
//         local memory lost anything
#ifndef LOCAL_BYTES
#define LOCAL_BYTES 4096
#endif
#include "kernels/opencl/gemm/mma.clh"

// The lowest byte of a word, a little less than that before it is rounded.
static uint FloatOf(const uint word) {
  return RoundedToTf32(as_uint((float)(word & 255) * (1.0f - 0x1p-12f)));
}

// The lowest bytes of both halves of a word: whole numbers as bf16.
static uint BFloatsOf(const uint word) {
  return as_uint((float)(word & 255)) >> 16 | (as_uint((float)(word >> 16 & 255)) & 0xffff0000u);
}

#define WORDS (LOCAL_BYTES / 4)
// The operands lie at the end, 512 bytes each, rows of 32.
#define A_AT (LOCAL_BYTES / 16 * 16 - 1024)
#define B_AT (A_AT + 512)

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void probe_mma(
    __global const ushort* restrict a, __global const ushort* restrict b,
    __global float* restrict out) {
  __local uchar memory[LOCAL_BYTES] __attribute__((aligned(1024)));
  DECLARE_WARP(memory, 32)
  const int item = get_local_id(0);
  __local uint* words = (__local uint*)memory;
  for (int i = item; i < WORDS; i += 32) words[i] = i * 2654435761u;
  barrier(CLK_LOCAL_MEM_FENCE);
  int lost = 0;
  for (int i = 0; i < 32; ++i) {
    const int at = (item * 32 + i) * (WORDS / 1024);
    if (words[at] != at * 2654435761u) ++lost;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  // The second half of each row of b comes in pieces of 8 bytes, the last of them zero.
  const int row = item / 2, half_row = item % 2;
  COPY_16(A_AT + item * 16, a + item * 8, 16);
  if (half_row == 0) {
    COPY_16(B_AT + item * 16, b + item * 8, 16);
  } else {
    COPY_8(B_AT + item * 16, b + item * 8, 8);
    COPY_8(B_AT + item * 16 + 8, b + item * 8 + 4, row == 15 ? 0 : 8);
  }
  COMMIT_COPIES;
  WAIT_COPIES(0);
  barrier(CLK_LOCAL_MEM_FENCE);

  uint rows[4], columns[4], float_rows[4], float_columns[2], bfloat_rows[4], bfloat_columns[2];
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f}, transposed[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  float float_sum[4] = {0.0f, 0.0f, 0.0f, 0.0f}, bfloat_sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  int byte_sum[4] = {0, 0, 0, 0}, signed_sum[4] = {0, 0, 0, 0};
  const int upper = (item & 15) * 32 + (item >> 4) * 16;
  LoadMatrices(rows, A_AT + upper, WARP_ARGS);
  LoadMatrices(columns, B_AT + ((item & 7) + (item >> 4) * 8) * 32 + (item >> 3 & 1) * 16,
               WARP_ARGS);
  for (int i = 0; i < 4; ++i) {
    float_rows[i] = FloatOf(rows[i]);
    bfloat_rows[i] = BFloatsOf(rows[i]);
  }
  for (int i = 0; i < 2; ++i) {
    float_columns[i] = FloatOf(columns[2 + i]);
    bfloat_columns[i] = BFloatsOf(columns[2 + i]);
  }
  MultiplyAddHalves(sum, rows, columns + 2, WARP_ARGS);
  MultiplyAddBytes(byte_sum, rows, columns + 2, WARP_ARGS);
  MultiplyAddSignedBytes(signed_sum, rows, columns + 2, WARP_ARGS);
  MultiplyAddFloats(float_sum, float_rows, float_columns, WARP_ARGS);
  MultiplyAddBFloats(bfloat_sum, bfloat_rows, bfloat_columns, WARP_ARGS);
  LoadMatricesTransposed(columns, B_AT + upper, WARP_ARGS);
  MultiplyAddHalves(transposed, rows, columns, WARP_ARGS);
  __global float* of_item = out + item * 25;
  for (int i = 0; i < 4; ++i) {
    of_item[i] = sum[i];
    of_item[4 + i] = transposed[i];
    of_item[8 + i] = byte_sum[i];
    of_item[12 + i] = signed_sum[i];
    of_item[16 + i] = float_sum[i];
    of_item[20 + i] = bfloat_sum[i];
  }
  of_item[24] = lost;
}
