// A product of bits by matrix instructions (bit_mma.clh), with pixels as rows and outputs as columns. A
// work-group makes BM pixels of BN outputs from TILE_STEPS steps of 256 bits at a time, which lie in
// local memory whole: sums are short, 3 steps of nine taps of 64 channels, 18 of 512. Warps make WM x WN
// counts each, and WARPS_K of them every WARPS_K-th step of the same.
//   lws = {ITEMS, 1, 1}, gws = {ceil(outputs / BN) * ITEMS, ceil(pixels / BM), batch}
//   x       words of 64 channels [batch][height][width][PIXEL_WORDS]
//   y, bits  results.clh, in pieces of eight outputs
//   filter  what results are made of; from places.x on the ones of weights, int [padded / 8][TAPS + 1][8],
//           of each tap and of all; from places.y on weights, [padded + 1][ROW_WORDS] words in the order
//           of taps and channels, the last row ones: what taps outside of the image meet with PAD_BIT 1
// The geometry is compiled in: KERNEL_W taps a row, STRIDE_*, DILATION_*, PAD_*, TAPS, IN_*, OUT_*, PIXEL_WORDS
// of a pixel, its CHANNELS; PIECE words are copied at once, 2 where pixels begin at multiples of 16 bytes.
// PAD_BIT: taps outside add nothing (-1), or meet such bits, which count.
#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 16
#endif
#ifndef WM
#define WM 16
#endif
#ifndef WN
#define WN 16
#endif
#ifndef WARPS_K
#define WARPS_K 1
#endif
#ifndef TILE_STEPS
#define TILE_STEPS 2
#endif
#ifndef KERNEL_W
#define KERNEL_W 1
#define TAPS 1
#define STRIDE_H 1
#define STRIDE_W 1
#define DILATION_H 1
#define DILATION_W 1
#define PAD_H 0
#define PAD_W 0
#define IN_H 4
#define IN_W 4
#define OUT_H 4
#define OUT_W 4
#define PIXEL_WORDS 1
#define CHANNELS_IN 64
#define PIECE 1
#define PAD_BIT -1
#endif
#define QUADS 2
#include "kernels/opencl/binary/results.clh"
#include "kernels/opencl/binary/bit_mma.clh"

#define PIXELS (OUT_H * OUT_W)
#define K_WORDS (TAPS * PIXEL_WORDS)
#define ROW_WORDS ((K_WORDS + 1) / 2 * 2)
#define WARPS_M (BM / WM)
#define WARPS_N (BN / WN)
#define ITEMS (32 * WARPS_M * WARPS_N * WARPS_K)
#define TILE_WORDS (TILE_STEPS * 4)
// An odd number of chunks of 16 bytes: the eight rows that an instruction reads lie in different banks.
#define ROW_BYTES (TILE_WORDS * 8 + 16)
// Counts meet in local memory, rows of BN and the ones of x.
#define SUM_PITCH (BN + 1)
#define SUM_BYTES (WARPS_K * BM * SUM_PITCH * 4)
#define COPY_BYTES ((BM + BN) * ROW_BYTES)
#define LOCAL_BYTES (COPY_BYTES > SUM_BYTES ? COPY_BYTES : SUM_BYTES)

#if PIECE == 2
#define COPY_PIECE COPY_16
#else
#define COPY_PIECE COPY_8
#endif

typedef struct {
  uint a[WM / 16][4], b[WN / 16][4];
} factors_t;
typedef struct {
  int at[WM / 16][WN / 8][4];
  int x_ones[WM / 16][4];
} counts_t;

// Four matrices of eight rows of 16 bytes: of 16 pixels or outputs, in the order of registers.
#define A_PIECE(i) ((warp_row * WM + (i)*16 + (lane & 15)) * ROW_BYTES + (lane >> 4) * 16)
#define B_ROW(j) (BM + warp_column * WN + (j)*16 + (lane & 7) + (lane >> 4) * 8)
#define B_PIECE(j) (B_ROW(j) * ROW_BYTES + (lane >> 3 & 1) * 16)
static __attribute__((always_inline)) void LoadFactors(__private factors_t* to, const int step,
                                                       const int lane, const int warp_row,
                                                       const int warp_column, WARP_PARAMS) {
  UNROLL_INSTRUCTIONS for (int i = 0; i < WM / 16; ++i)
    LoadMatrices(to->a[i], A_PIECE(i) + step * 32, WARP_ARGS);
  UNROLL_INSTRUCTIONS for (int j = 0; j < WN / 16; ++j)
    LoadMatrices(to->b[j], B_PIECE(j) + step * 32, WARP_ARGS);
}

// The ones of x are its pairs with columns of `ones`.
static __attribute__((always_inline)) void AddCounts(__private counts_t* counts,
                                                     __private const factors_t* of,
                                                     __private const uint* ones, WARP_PARAMS) {
  UNROLL_INSTRUCTIONS for (int i = 0; i < WM / 16; ++i) {
    UNROLL_INSTRUCTIONS for (int j = 0; j < WN / 8; ++j)
      CountPairs(counts->at[i][j], of->a[i], of->b[j / 2] + j % 2 * 2, WARP_ARGS);
    if (X_ONES) CountPairs(counts->x_ones[i], of->a[i], ones, WARP_ARGS);
  }
}

// Rows of a tile are shared by neighbours: `lanes` of them to a row, a piece each.
#define COPY_LOOP(rows, piece, count)                           \
  const int lanes = ITEMS / (rows), row_of_tile = item / lanes; \
  for (int piece = item % lanes; piece < (count); piece += lanes)

// The words of the pixels under the kernel from `first` on, zero beyond the last.
#define COPY_PIXELS(first)                                                                      \
  {                                                                                             \
    COPY_LOOP(BM, piece, TILE_WORDS / PIECE) {                                                  \
      const int word = (first) + piece * PIECE, tap = word / PIXEL_WORDS;                       \
      const int pixel = min(first_pixel + row_of_tile, PIXELS - 1);                             \
      const int row = pixel / OUT_W * STRIDE_H - PAD_H + tap / KERNEL_W * DILATION_H;           \
      const int column = pixel % OUT_W * STRIDE_W - PAD_W + tap % KERNEL_W * DILATION_W;        \
      const bool is_inside = row >= 0 && row < IN_H && column >= 0 && column < IN_W;            \
      __global const ulong* from =                                                              \
          image + (row * IN_W + column) * PIXEL_WORDS + word - tap * PIXEL_WORDS;               \
      if (PAD_BIT > 0 && !is_inside) from = weights + padded * ROW_WORDS + word;                \
      COPY_PIECE(row_of_tile * ROW_BYTES + piece * PIECE * 8, from,                             \
                 word < K_WORDS && (is_inside || PAD_BIT > 0) ? PIECE * 8 : 0);                 \
    }                                                                                           \
  }
#define COPY_OUTPUTS(first)                                                                       \
  {                                                                                               \
    COPY_LOOP(BN, chunk, TILE_WORDS / 2) {                                                        \
      const int word = (first) + chunk * 2;                                                       \
      const int output = min(first_output + row_of_tile, padded - 1);                             \
      COPY_16((BM + row_of_tile) * ROW_BYTES + chunk * 16, weights + output * ROW_WORDS + word,   \
              word < ROW_WORDS ? 16 : 0);                                                         \
    }                                                                                             \
  }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void binary_mma(
    __global const ulong* restrict x, const int x_offset OUTPUT_PARAMS BIT_PARAMS,
    __global const int* restrict filter_at, const int filter_offset, const int4 out_dims,
    const int outputs, const int2 places, const int padded, const int bit_blocks,
    const int4 factors, const int4 packing EXPRESSION_PARAMS) {
  __local uchar local_memory[LOCAL_BYTES] __attribute__((aligned(128)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_output = (get_group_id(0) + get_global_offset(0) / ITEMS) * BN;
  const int first_pixel = get_global_id(1) * BM;
  const int n = get_global_id(2);
  __global const int* filter = filter_at + filter_offset;
  __global const ulong* weights = (__global const ulong*)(filter + places.y);
  __global const ulong* image = x + x_offset + n * IN_H * IN_W * PIXEL_WORDS;

  const int lane = item & 31, warp = item / 32;
  const int warp_k = warp % WARPS_K, warp_column = warp / WARPS_K % WARPS_N;
  const int warp_row = warp / WARPS_K / WARPS_N;
  const uint ones[2] = {~0u, ~0u};
  factors_t of;
  counts_t counts;
  for (int i = 0; i < WM / 16; ++i)
    for (int j = 0; j < WN / 8; ++j)
      for (int r = 0; r < 4; ++r) counts.at[i][j][r] = 0;
  for (int i = 0; i < WM / 16; ++i)
    for (int r = 0; r < 4; ++r) counts.x_ones[i][r] = 0;
  for (int first = 0; first < K_WORDS; first += TILE_WORDS) {
    COPY_PIXELS(first)
    COPY_OUTPUTS(first)
    COMMIT_COPIES;
    WAIT_COPIES(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL_INSTRUCTIONS for (int step = 0; step < TILE_STEPS; step += WARPS_K) {
      LoadFactors(&of, step + warp_k, lane, warp_row, warp_column, WARP_ARGS);
      AddCounts(&counts, &of, ones, WARP_ARGS);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  __local int* sums = (__local int*)local_memory;
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
    __local int* to = sums + (warp_k * BM + warp_row * WM + i * 16 + lane / 4) * SUM_PITCH;
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {
      const int at = warp_column * WN + j * 8 + lane % 4 * 2;
#pragma unroll
      for (int r = 0; r < 4; ++r)
        to[r / 2 * 8 * SUM_PITCH + at + r % 2] = counts.at[i][j][r];
    }
    if (X_ONES && warp_column == 0 && lane % 4 == 0) {
      to[BN] = counts.x_ones[i][0];
      to[8 * SUM_PITCH + BN] = counts.x_ones[i][2];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int part = item; part < BM * BN / 8; part += ITEMS) {
    const int pixel = first_pixel + part % BM, block = (first_output + part / BM * 8) / 8;
    if (pixel >= PIXELS || block * 8 >= padded) continue;
    const int row = pixel / OUT_W, column = pixel % OUT_W;
    __local const int* from = sums + part % BM * SUM_PITCH;
    SUMS count = (SUMS)(0);
    int x_ones = 0;
    for (int k = 0; k < WARPS_K; ++k, from += BM * SUM_PITCH) {
      count += vload8(0, from + part / BM * 8);
      if (X_ONES) x_ones += from[BN];
    }
    __global const int* ones = filter + places.x + block * (TAPS + 1) * 8;
    SUMS w_ones = LOAD_SUMS(ones, TAPS);
    int pairs = TAPS * CHANNELS_IN;
    const int top = row * STRIDE_H - PAD_H, left = column * STRIDE_W - PAD_W;
    if (PAD_BIT < 0 &&
        (top < 0 || left < 0 || top + (TAPS / KERNEL_W - 1) * DILATION_H >= IN_H ||
         left + (KERNEL_W - 1) * DILATION_W >= IN_W)) {
      for (int tap = 0; tap < TAPS; ++tap) {
        const int in_row = top + tap / KERNEL_W * DILATION_H;
        const int in_column = left + tap % KERNEL_W * DILATION_W;
        if (in_row >= 0 && in_row < IN_H && in_column >= 0 && in_column < IN_W) continue;
        pairs -= CHANNELS_IN;
        if (W_ONES) w_ones -= LOAD_SUMS(ones, tap);
      }
    }
    DECLARE_BITS
    const SUMS s = factors.x * count + (SUMS)(factors.y * x_ones + factors.w * pairs) +
                   factors.z * w_ones;
    STORE_INTEGERS(s)
    STORE_BITS
  }
}
