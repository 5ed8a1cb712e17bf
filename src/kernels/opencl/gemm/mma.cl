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
#define FINISH_WHOLE ALIGNED
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
#define PART_ROW(part) ((part) / (WN / PART))
#define PART_COLUMN(part) ((part) % (WN / PART) * PART)

// Two floats as they are stored, to the nearest even, the first in the lower half.
#if ALIGNED && ELEMENT_BYTES == 2
#if !EMULATED
static __attribute__((always_inline)) uint RoundedPair(const float low, const float high) {
  uint pair;
#if FETTLE_BFLOAT
  __asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#else
  __asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
  return pair;
}
#elif FETTLE_BFLOAT
static uint RoundedPair(const float low, const float high) {
  return Narrowed(low) | (uint)Narrowed(high) << 16;
}
#else
static uint RoundedPair(const float low, const float high) {
  ushort2 pair;
  vstore_half2_rte((float2)(low, high), 0, (half*)&pair);
  return pair.x | (uint)pair.y << 16;
}
#endif
#endif

// A tile of `tile_rows` rows of `chunks` chunks, each work-item the same chunk of every JUMP-th row, from its
// own place of the operand (START_ROWS, START_STEPS) on. What lies outside is zero, of which nothing is read:
// lanes that repeat what is inside wait for each other.
#if CHUNKS_ALIGNED
#define JUMP(chunks) (ITEMS / (chunks))
// Rows a multiple of 8 apart have one order of chunks: all but the first lies at a constant from it.
#define PLACE_OF(chunk_at, f, chunks)                                                    \
  (JUMP(chunks) % 8 == 0                                                                 \
       ? chunk_at(item / (chunks), item % (chunks), chunks) + chunk_at((f)*JUMP(chunks), 0, chunks) \
       : chunk_at(item / (chunks) + (f)*JUMP(chunks), item % (chunks), chunks))
#define COPY_EACH(chunk_at, to, from, pitch, tile_rows, chunks, bytes)                           \
  _Pragma("unroll") for (int f = 0; f < (tile_rows) / JUMP(chunks); ++f)                         \
      COPY_16((to) + PLACE_OF(chunk_at, f, chunks), (from) + f * JUMP(chunks) * (pitch), bytes);
// Rows are along m or n, k along columns: `left` steps of it are inside.
#define START_ROWS(row, pitch, chunks) \
  ((long)((row) + item / (chunks)) * (pitch) + item % (chunks) * CHUNK)
#define COPY_ROWS(to, from, row, rows, left, pitch, tile_rows, chunks)                           \
  COPY_EACH(CHUNK_AT, to, from, pitch, tile_rows, chunks,                                        \
            !CHECKED ? 16                                                                        \
            : (row) + item / (chunks) + f * JUMP(chunks) < (rows)                                \
                ? clamp((left)*ELEMENT_BYTES - item % (chunks)*16, 0, 16)                        \
                : 0)
// Rows are along k: `left` of them are inside.
#define START_STEPS(column, pitch, chunks) \
  ((long)(item / (chunks)) * (pitch) + (column) + item % (chunks) * CHUNK)
#define COPY_STEPS(to, from, column, columns, left, pitch, tile_rows, chunks)                    \
  COPY_EACH(CHUNK_AT_STEP, to, from, pitch, tile_rows, chunks,                                   \
            !CHECKED || (item / (chunks) + f * JUMP(chunks) < (left) &&                          \
                         (column) + item % (chunks) * CHUNK < (pitch))                           \
                ? 16                                                                             \
                : 0)
#else
#define START_ROWS(row, pitch, chunks) 0
#define START_STEPS(column, pitch, chunks) 0
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
#define A_START START_STEPS(first_row, a_pitch, A_CHUNKS)
#define COPY_A(to, left) COPY_STEPS(to, a, first_row, m, left, a_pitch, K_STEPS, A_CHUNKS)
#else
#define A_STEP K_STEPS
#define A_START START_ROWS(first_row, a_pitch, A_CHUNKS)
#define COPY_A(to, left) COPY_ROWS(to, a, first_row, m, left, a_pitch, BM, A_CHUNKS)
#endif
#if TRANS_B
#define B_STEP K_STEPS
#define B_START START_ROWS(first_column, b_pitch, B_CHUNKS)
#define COPY_B(to, left) COPY_ROWS(to, b, first_column, n, left, b_pitch, BN, B_CHUNKS)
#else
#define B_STEP (K_STEPS * b_pitch)
#define B_START START_STEPS(first_column, b_pitch, B_CHUNKS)
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
#if ALIGNED && ELEMENT_BYTES == 2
// Four at once: some compilers make four stores of vstorea_half4.
#define STORE_FINISHED(v, at) \
  *(__global uint2*)(c + (at)) = (uint2)(RoundedPair((v).x, (v).y), RoundedPair((v).z, (v).w))
#else
#define STORE_FINISHED(v, at) STOREV(v, c, at)
#endif
// Parts are inside or outside as a whole: ALIGNED rows are whole parts long. What is outside is finished as
// the last part inside, so that reads of several parts are on their way at once.
#define STORE_PART(tile_row, tile_column, p)                                                          \
  {                                                                                                   \
    const int of_m = first_row + (tile_row), of_n = first_column + (tile_column);                     \
    const int row = z * m + (CHECKED ? min(of_m, m - 1) : of_m), column = CHECKED ? min(of_n, n - VW) : of_n; \
    const vec_t finished = FINISH_SUM(LANES_OF(p), row, column, VW);                                  \
    if (!CHECKED || (of_m < m && of_n < n)) STORE_FINISHED(finished, c_offset + row * n + column);    \
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
  a += a_offset + (long)MatrixOf(z, batch.x, batch.y) * a_pitch * (TRANS_A ? k : m) + (long)first * A_STEP + A_START;
  b += b_offset + (long)MatrixOf(z, batch.z, batch.w) * b_pitch * (TRANS_B ? n : k) + (long)first * B_STEP + B_START;

  WARP_TILES(sum, first, TILES_OF_SLICE(slice, tiles))
  JOIN_SLICES(sum, TILE_OF_GROUP, slice)
  STORE_TILES(sum)
  NORMALISE_ROWS
}
