// C [m, n] = A [m, k] * B [k, n] of f16, of bf16, or of f32, whose factors are rounded to TF32, by
// matrix instructions, sums in f32, row-major in buffers (warp_tiles.clh). A work-group makes BM x BN outputs, or a
// slice of their sums: lws = {ITEMS, 1, 1}, gws = {ceil(n / BN) * ITEMS, ceil(m / BM), matrices * SPLIT}.
//   TRANS_A, TRANS_B  1: A is [k, m], B is [n, k]
//   CHECKED           0: m, n and k are multiples of BM, BN and K_STEPS
//   CHUNKS_ALIGNED    1: A and B, and their rows, `a_pitch` and `b_pitch` elements long, begin at
//                     multiples of 16 bytes
// ALIGNED (operands.clh) is about the rows of C.
// Operands of more than one matrix: matrix i of C is of matrices (i / batch.x) % batch.y of A and
// (i / batch.z) % batch.w of B.
#ifndef CHECKED
#define CHECKED 1
#endif
#ifndef CHUNKS_ALIGNED
#define CHUNKS_ALIGNED 0
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif
#define A_BY_K TRANS_A
#define B_BY_K (!TRANS_B)
// Without alignment lanes write neighbours, so that a warp still writes whole pieces of memory.
#ifndef ALIGNED
#define ALIGNED 0
#endif
#if ALIGNED
#define VW 4
#else
#define VW 1
#endif
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"
#if FETTLE_HALF
#define FACTORS HALVES
#define ELEMENT ushort
#elif FETTLE_BFLOAT
#define FACTORS BFLOATS
#define ELEMENT ushort
#else
#define FACTORS FLOATS
#define ELEMENT uint
#endif
#include "kernels/opencl/gemm/mma.clh"
#include "kernels/opencl/gemm/warp_tiles.clh"
#include "kernels/opencl/gemm/normed_rows.clh"

// Lanes walk along rows of C.
#define PART VW
#define PART_ROW(part) ((part) / (WN / VW))
#define PART_COLUMN(part) ((part) % (WN / VW) * VW)

// A tile of `tile_rows` rows of `chunks` chunks, each work-item the same chunk of several rows. What lies
// outside is zero, of which nothing is read: lanes that repeat what is inside wait for each other.
#if CHUNKS_ALIGNED
// Rows are along m or n, k along columns: `left` steps of it are inside.
#define COPY_ROWS(to, from, row, rows, left, pitch, tile_rows, chunks)                               \
  _Pragma("unroll") for (int f = 0; f < (tile_rows) * (chunks) / ITEMS; ++f) {                       \
    const int at = item / (chunks) + f * (ITEMS / (chunks)), chunk = item % (chunks);                \
    const int at_row = CHECKED ? min((row) + at, (rows)-1) : (row) + at;                             \
    COPY_16((to) + CHUNK_AT(at, chunk, chunks), (from) + at_row * (pitch) + chunk * CHUNK,           \
            !CHECKED            ? 16                                                                 \
            : (row) + at < (rows) ? clamp((left)*ELEMENT_BYTES - chunk * 16, 0, 16)                  \
                                  : 0);                                                              \
  }
// Rows are along k: `left` of them are inside.
#define COPY_STEPS(to, from, column, columns, left, pitch, tile_rows, chunks)                        \
  _Pragma("unroll") for (int f = 0; f < (tile_rows) * (chunks) / ITEMS; ++f) {                       \
    const int at = item / (chunks) + f * (ITEMS / (chunks)), chunk = item % (chunks);                \
    const int at_column =                                                                            \
        CHECKED ? min((column) + chunk * CHUNK, (pitch)-CHUNK) : (column) + chunk * CHUNK;           \
    COPY_16((to) + CHUNK_AT_STEP(at, chunk, chunks), (from) + at * (pitch) + at_column,              \
            !CHECKED || (at < (left) && (column) + chunk * CHUNK < (pitch)) ? 16 : 0);               \
  }
#else
static void CopyElements(__local uchar* to, __global const ELEMENT* from, const int count) {
  union {
    ELEMENT lanes[CHUNK];
    uint4 all;
  } chunk;
#pragma unroll
  for (int i = 0; i < CHUNK; ++i) chunk.lanes[i] = i < count ? from[i] : (ELEMENT)0;
  *(__local uint4*)to = chunk.all;
}
#define COPY_ROWS(to, from, row, rows, left, pitch, tile_rows, chunks)                                \
  for (int f = 0; f < (tile_rows) * (chunks) / ITEMS; ++f) {                                          \
    const int at = item / (chunks) + f * (ITEMS / (chunks)), chunk = item % (chunks);                 \
    CopyElements(local_memory + (to) + CHUNK_AT(at, chunk, chunks),                                   \
                 (__global const ELEMENT*)((from) + min((row) + at, (rows)-1) * (pitch) + chunk * CHUNK), \
                 (left)-chunk * CHUNK);                                                               \
  }
#define COPY_STEPS(to, from, column, columns, left, pitch, tile_rows, chunks)                         \
  for (int f = 0; f < (tile_rows) * (chunks) / ITEMS; ++f) {                                          \
    const int at = item / (chunks) + f * (ITEMS / (chunks)), chunk = item % (chunks);                 \
    CopyElements(local_memory + (to) + CHUNK_AT_STEP(at, chunk, chunks),                              \
                 (__global const ELEMENT*)((from) + at * (pitch) + (column) + chunk * CHUNK),         \
                 at < (left) ? (columns) - (column)-chunk * CHUNK : 0);                               \
  }
#endif
#if TRANS_A
#define A_STEP (K_STEPS * a_pitch)
#define COPY_A(to, left) COPY_STEPS(to, a, first_row, m, left, a_pitch, K_STEPS, A_CHUNKS)
#else
#define A_STEP K_STEPS
#define COPY_A(to, left) COPY_ROWS(to, a, first_row, m, left, a_pitch, BM, A_CHUNKS)
#endif
#if TRANS_B
#define B_STEP K_STEPS
#define COPY_B(to, left) COPY_ROWS(to, b, first_column, n, left, b_pitch, BN, B_CHUNKS)
#else
#define B_STEP (K_STEPS * b_pitch)
#define COPY_B(to, left) COPY_STEPS(to, b, first_column, n, left, b_pitch, K_STEPS, B_CHUNKS)
#endif
// Tiles are asked for one after the other.
#define COPY_TILE(tile, place)                    \
  {                                               \
    COPY_A(place, k - (tile)*K_STEPS)             \
    COPY_B((place) + A_BYTES, k - (tile)*K_STEPS) \
    a += A_STEP;                                  \
    b += B_STEP;                                  \
  }

#define TILE_OF_GROUP \
  ((z * ((m + BM - 1) / BM) + first_row / BM) * ((n + BN - 1) / BN) + first_column / BN)
#define STORE_PART(tile_row, tile_column, p)                                              \
  {                                                                                       \
    const int row = first_row + (tile_row), column = first_column + (tile_column);        \
    const int left = n - column, at = c_offset + (z * m + row) * n + column;              \
    if (!CHECKED || (row < m && left > 0))                                                \
      StoreColumns(FINISH_SUM(LANES_OF(p), z * m + row, column, left), c, at, left);      \
  }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void gemm_mma(
    const int m, const int n, const int k, __global const storage_t* restrict a, const int a_offset,
    __global const storage_t* restrict b, const int b_offset, __global storage_t* restrict c,
    const int c_offset, const int4 batch, const int a_pitch,
    const int b_pitch SPLIT_PARAMS ADDEND_PARAMS EXPRESSION_PARAMS NORM_PARAMS) {
  __local uchar local_memory[TILE_BYTES] __attribute__((aligned(1024)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_column = (get_group_id(0) + get_global_offset(0) / ITEMS) * BN;
  const int first_row = get_global_id(1) * BM;
  const int z = get_global_id(2) / SPLIT, slice = get_global_id(2) % SPLIT;
  const int tiles = (k + K_STEPS - 1) / K_STEPS, first = FIRST_OF_SLICE(slice, tiles);
  a += a_offset + (long)MatrixOf(z, batch.x, batch.y) * a_pitch * (TRANS_A ? k : m) + (long)first * A_STEP;
  b += b_offset + (long)MatrixOf(z, batch.z, batch.w) * b_pitch * (TRANS_B ? n : k) + (long)first * B_STEP;

  WARP_TILES(sum, first, TILES_OF_SLICE(slice, tiles))
  JOIN_SLICES(sum, TILE_OF_GROUP, slice)
  STORE_TILES(sum)
  NORMALISE_ROWS
}
