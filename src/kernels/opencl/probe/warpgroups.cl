// One tile by a warpgroup (gemm/warpgroup_tiles.clh): gws = lws = {128, 1, 1}.
//   a, b  rows of 128 bytes: a [64 rows] of 64 f16, (FACTORS 4) bf16, (3) 32 f32, or (1, 2) 128 u8 or i8;
//         b [64 steps of k] of 64 f16 or bf16, or [64 columns] of 128 i8 or 32 f32
//   out   f32, the 32 sums of each work-item
#define BM 64
#define BN 64
#define BK 64
#define WM 16
#define WN 64
#define STAGES 3
#ifndef WARPGROUPS
#define WARPGROUPS 1
#endif
#ifndef FACTORS
#define FACTORS 0
#endif
#if FACTORS == 0 || FACTORS == 4
#define B_BY_K 1
#endif
#include "kernels/opencl/gemm/mma.clh"
#include "kernels/opencl/gemm/warp_tiles.clh"

#if B_BY_K
#define PLACE_OF_B CHUNK_AT_STEP
#else
#define PLACE_OF_B CHUNK_AT
#endif
#define COPY_TILE(tile, place)                                                                    \
  for (int row = item / 8; row < 64; row += 16) {                                                 \
    COPY_16((place) + CHUNK_AT(row, item % 8, 8), a + row * 128 + item % 8 * 16, 16);             \
    COPY_16((place) + A_BYTES + PLACE_OF_B(row, item % 8, 8), b + row * 128 + item % 8 * 16, 16); \
  }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void probe_warpgroups(
    __global const uchar* restrict a, __global const uchar* restrict b,
    __global float* restrict out) {
  __local uchar local_memory[TILE_BYTES] __attribute__((aligned(1024)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  WARP_TILES(sum, 0, 1)
  out += ((warp_row + warp_column) * 32 + lane) * (BN / 2);
#pragma unroll
  for (int j = 0; j < BN / 8; ++j)
#pragma unroll
    for (int r = 0; r < 4; ++r) out[j * 4 + r] = sum.at[0][j][r];
}
