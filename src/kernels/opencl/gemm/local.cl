// C [m, n] = A [m, k] * B [k, n], row-major in buffers, tiles of A and B brought to local memory by
// the whole work-group, each work-item TM x TN outputs in registers: what suits GPUs.
// A work-group makes MWG x NWG outputs: lws = {NWG / TN, MWG / TM, 1}, gws = {ceil(n / NWG) * lws[0],
// ceil(m / MWG) * lws[1], matrices}. A work-item's rows and columns lie in quads, MWG / TM * 4 rows
// and NWG / TN * 4 columns apart, so that neighbours read neighbouring local memory.
//   KWG               steps of k of a tile
//   BUFFERS           tiles in local memory: 1, or 2 and the next one is fetched during the products
//   CHECKED           0: m, n and k are multiples of MWG, NWG and KWG
//   TRANS_A, TRANS_B  1: A is [k, m], B is [n, k]
// ALIGNED (operands.clh) is about the rows of A, B and C. Operands of more than one matrix: matrix i
// of C is of matrices (i / batch.x) % batch.y of A and (i / batch.z) % batch.w of B.
#ifndef MWG
#define MWG 64
#endif
#ifndef NWG
#define NWG 64
#endif
#ifndef KWG
#define KWG 16
#endif
#ifndef TM
#define TM 4
#endif
#ifndef TN
#define TN 4
#endif
#ifndef BUFFERS
#define BUFFERS 2
#endif
#ifndef CHECKED
#define CHECKED 1
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif
#define VW 4
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"

#define ROW_ITEMS (MWG / TM)
#define COLUMN_ITEMS (NWG / TN)
#define ITEMS (ROW_ITEMS * COLUMN_ITEMS)
// Quads that each work-item fetches of a tile.
#define A_FETCHES (MWG * KWG / 4 / ITEMS)
#define B_FETCHES (NWG * KWG / 4 / ITEMS)
// Four more columns spread the transposed stores over the banks.
#define A_PITCH (MWG + 4)
#define B_PITCH (NWG + 4)

// Four neighbours of a row-major matrix of `rows` rows `columns` long, zero outside.
REAL4 FetchQuad(__global const storage_t* restrict p, const int row, const int column,
                        const int rows, const int columns) {
#if CHECKED
  return LoadColumns(p, row * columns + column, row < rows ? columns - column : 0);
#else
  return LOADV(p, row * columns + column);
#endif
}

// A tile is `lines` memory rows of `quads` quads; quad i of it is line i / quads. The tile begins at
// (row, column) of the matrix.
#define FETCH(regs, count, quads, p, row, column, rows, columns)                                  \
  _Pragma("unroll") for (int f = 0; f < count; ++f) {                                             \
    const int quad = f * ITEMS + item;                                                            \
    regs[f] = FetchQuad(p, (row) + quad / (quads), (column) + quad % (quads) * 4, rows, columns); \
  }
// Memory rows are rows of the tile.
#define KEEP(regs, count, quads, tile, pitch)                                             \
  _Pragma("unroll") for (int f = 0; f < count; ++f) {                                     \
    const int quad = f * ITEMS + item;                                                    \
    *(__local REAL4*)(tile + quad / (quads) * (pitch) + quad % (quads) * 4) = regs[f];   \
  }
// Memory rows are columns of the tile.
#define KEEP_TRANSPOSED(regs, count, quads, tile, pitch)                                  \
  _Pragma("unroll") for (int f = 0; f < count; ++f) {                                     \
    const int quad = f * ITEMS + item;                                                    \
    __local REAL* to = tile + quad % (quads) * 4 * (pitch) + quad / (quads);             \
    to[0] = regs[f].x;                                                                    \
    to[pitch] = regs[f].y;                                                                \
    to[2 * (pitch)] = regs[f].z;                                                          \
    to[3 * (pitch)] = regs[f].w;                                                          \
  }

// Tiles lie in local memory as [KWG][MWG] and [KWG][NWG].
#if TRANS_A
#define FETCH_A(p) FETCH(a_regs, A_FETCHES, MWG / 4, a, p, first_row, k, m)
#define KEEP_A(tile) KEEP(a_regs, A_FETCHES, MWG / 4, tile, A_PITCH)
#else
#define FETCH_A(p) FETCH(a_regs, A_FETCHES, KWG / 4, a, first_row, p, m, k)
#define KEEP_A(tile) KEEP_TRANSPOSED(a_regs, A_FETCHES, KWG / 4, tile, A_PITCH)
#endif
#if TRANS_B
#define FETCH_B(p) FETCH(b_regs, B_FETCHES, KWG / 4, b, first_column, p, n, k)
#define KEEP_B(tile) KEEP_TRANSPOSED(b_regs, B_FETCHES, KWG / 4, tile, B_PITCH)
#else
#define FETCH_B(p) FETCH(b_regs, B_FETCHES, NWG / 4, b, p, first_column, k, n)
#define KEEP_B(tile) KEEP(b_regs, B_FETCHES, NWG / 4, tile, B_PITCH)
#endif

// sum += the product of two tiles; sums of f16 reach over one tile.
__attribute__((always_inline)) void Multiply(__local const REAL* a_tile,
                                                    __local const REAL* b_tile, const int x,
                                                    const int y, float4 sum[TM][TN / 4]) {
#if FETTLE_COMPUTE
#define SUM(i, j) part[i][j]
  REAL4 part[TM][TN / 4];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN / 4; ++j) part[i][j] = (REAL4)((REAL)0);
#else
#define SUM(i, j) sum[i][j]
#endif
#pragma unroll
  for (int p = 0; p < KWG; ++p) {
    REAL left[TM];
    REAL4 right[TN / 4];
#pragma unroll
    for (int i = 0; i < TM / 4; ++i)
      vstore4(*(__local const REAL4*)(a_tile + p * A_PITCH + (i * ROW_ITEMS + y) * 4), i, left);
#pragma unroll
    for (int j = 0; j < TN / 4; ++j)
      right[j] = *(__local const REAL4*)(b_tile + p * B_PITCH + (j * COLUMN_ITEMS + x) * 4);
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN / 4; ++j)
        SUM(i, j) = ADD_PRODUCT((REAL4)(left[i]), right[j], SUM(i, j));
  }
#if FETTLE_COMPUTE
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN / 4; ++j) sum[i][j] += WIDE(part[i][j], 4);
#endif
}

__kernel __attribute__((reqd_work_group_size(COLUMN_ITEMS, ROW_ITEMS, 1))) void gemm_local(
    const int m, const int n, const int k, __global const storage_t* restrict a, const int a_offset,
    __global const storage_t* restrict b, const int b_offset, __global storage_t* restrict c,
    const int c_offset, const int4 batch ADDEND_PARAMS EXPRESSION_PARAMS) {
  __local REAL a_tile[BUFFERS * KWG * A_PITCH] __attribute__((aligned(16)));
  __local REAL b_tile[BUFFERS * KWG * B_PITCH] __attribute__((aligned(16)));
  const int x = get_local_id(0);
  const int y = get_local_id(1);
  const int item = y * COLUMN_ITEMS + x;
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_column = (get_group_id(0) + get_global_offset(0) / COLUMN_ITEMS) * NWG;
  const int first_row = (get_group_id(1) + get_global_offset(1) / ROW_ITEMS) * MWG;
  const int z = get_global_id(2);
  a += a_offset + MatrixOf(z, batch.x, batch.y) * m * k;
  b += b_offset + MatrixOf(z, batch.z, batch.w) * k * n;

  REAL4 a_regs[A_FETCHES], b_regs[B_FETCHES];
  float4 sum[TM][TN / 4];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN / 4; ++j) sum[i][j] = (float4)(0.0f);
#if BUFFERS == 2
  FETCH_A(0)
  FETCH_B(0)
  KEEP_A(a_tile)
  KEEP_B(b_tile)
  barrier(CLK_LOCAL_MEM_FENCE);
  int current = 0;
  for (int p = KWG; p < k; p += KWG) {
    FETCH_A(p)
    FETCH_B(p)
    Multiply(a_tile + current * KWG * A_PITCH, b_tile + current * KWG * B_PITCH, x, y, sum);
    current ^= 1;
    KEEP_A((a_tile + current * KWG * A_PITCH))
    KEEP_B((b_tile + current * KWG * B_PITCH))
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  Multiply(a_tile + current * KWG * A_PITCH, b_tile + current * KWG * B_PITCH, x, y, sum);
#else
  for (int p = 0; p < k; p += KWG) {
    FETCH_A(p)
    FETCH_B(p)
    KEEP_A(a_tile)
    KEEP_B(b_tile)
    barrier(CLK_LOCAL_MEM_FENCE);
    Multiply(a_tile, b_tile, x, y, sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = first_row + (i / 4 * ROW_ITEMS + y) * 4 + i % 4;
#pragma unroll
    for (int j = 0; j < TN / 4; ++j) {
      const int column = first_column + (j * COLUMN_ITEMS + x) * 4;
      const int left = n - column;
      const int at = c_offset + (z * m + row) * n + column;
#if CHECKED
      if (row < m && left > 0)
        StoreColumns(FINISH_SUM(sum[i][j], z * m + row, column, left), c, at, left);
#else
      STOREV(FINISH_SUM(sum[i][j], z * m + row, column, 4), c, at);
#endif
    }
  }
}
