// Rows of bytes times constant weights by matrix instructions (mma.clh). A work-group makes BM rows of BN
// columns, or a slice of their sums: lws = {ITEMS, 1, 1}, gws = {ceil(channels / BN) * ITEMS,
// ceil(rows / BM), SPLIT}.
//   x       row-major buffer [rows, depth] of IN_TYPE
//   y       row-major buffer [rows, channels], of OUT_TYPE or the storage type
//   filter  as mma.clh says
//   EVEN    1: rows, columns and depth are whole tiles, 0: what is outside is looked for
#ifndef EVEN
#define EVEN 0
#endif
#define QUADS 1
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/quantised/rows.clh"
#include "kernels/opencl/quantised/mma.clh"

// Lanes walk along rows of y.
#define PART_ROW(part) ((part) / (WN / 4))
#define PART_COLUMN(part) ((part) % (WN / 4) * 4)

// As much of a chunk as there is, byte by byte, and zeros.
static void CopyBytewise(__local uchar* to, __global const uchar* from, const int count) {
  uchar lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = i < count ? from[i] : (uchar)0;
  *(__local uchar16*)to = vload16(0, lanes);
}

// What lies outside along rows and channels is zero, of which nothing is read: lanes that repeat what is
// inside wait for each other.
#define COPY_A(tile, to)                                                                               \
  _Pragma("unroll") for (int f = 0; f < BM * A_CHUNKS / ITEMS; ++f) {                                  \
    const int at = item / A_CHUNKS + f * (ITEMS / A_CHUNKS), chunk = item % A_CHUNKS;                  \
    const int step = (tile)*K_STEPS + chunk * CHUNK;                                                   \
    const int row = EVEN ? first_row + at : min(first_row + at, rows - 1);                             \
    __global const IN_TYPE* from = x + x_offset + row * depth + step;                                  \
    if (is_aligned) {                                                                                  \
      COPY_16((to) + CHUNK_AT(at, chunk, A_CHUNKS), from,                                              \
              EVEN || (step < depth && first_row + at < rows) ? 16 : 0);                               \
    } else {                                                                                           \
      CopyBytewise(local_memory + (to) + CHUNK_AT(at, chunk, A_CHUNKS), (__global const uchar*)from,   \
                   depth - step);                                                                      \
    }                                                                                                  \
  }
#define COPY_B(tile, to)                                                                               \
  _Pragma("unroll") for (int f = 0; f < BN * B_CHUNKS / ITEMS; ++f) {                                  \
    const int at = item / B_CHUNKS + f * (ITEMS / B_CHUNKS), chunk = item % B_CHUNKS;                  \
    const int step = (tile)*K_STEPS + chunk * CHUNK;                                                   \
    const int row = EVEN ? first_channel + at : min(first_channel + at, padded - 1);                   \
    COPY_16((to) + CHUNK_AT(at, chunk, B_CHUNKS), weights + row * pitch + step,                        \
            EVEN || (step < pitch && first_channel + at < padded) ? 16 : 0);                           \
  }
#define COPY_TILE(tile, place)      \
  {                                 \
    COPY_A(tile, place)             \
    COPY_B(tile, (place) + A_BYTES) \
  }
#define TILE_OF_GROUP (first_row / BM * ((channels + BN - 1) / BN) + first_channel / BN)
#define STORE_PART(tile_row, tile_column, p)                                                  \
  {                                                                                           \
    const int row = first_row + (tile_row), block = (first_channel + (tile_column)) / 4;      \
    if (row < rows && block * 4 < channels) STORE_SUMS(p, block)                              \
  }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void quantised_matmul_mma(
    BYTE_PARAMS(OUTPUT), const int rows, const int depth SPLIT_PARAMS EXPRESSION_PARAMS) {
  __local uchar local_memory[TILE_BYTES] __attribute__((aligned(1024)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_channel = (get_group_id(0) + get_global_offset(0) / ITEMS) * BN;
  const int first_row = get_global_id(1) * BM, slice = get_global_id(2);
  const int x_zero = X_ZERO;
  const bool is_aligned = (EVEN ? x_offset : depth | x_offset) % CHUNK == 0;
  const int pitch = (depth + CHUNK - 1) / CHUNK * CHUNK;
  __global const int* filter = filter_at + filter_offset;
  __global const char* weights = (__global const char*)(filter + 3 * padded);

  const int tiles = (depth + K_STEPS - 1) / K_STEPS;
  WARP_TILES(sum, FIRST_OF_SLICE(slice, tiles), TILES_OF_SLICE(slice, tiles))
  JOIN_SLICES(sum, TILE_OF_GROUP, slice)
  STORE_TILES(sum)
}
