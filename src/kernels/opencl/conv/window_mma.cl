// Convolution of few input channels by matrix instructions (gemm/mma.clh): a work-group brings the window
// under TILE_H x TILE_W output pixels to local memory once, with the weights of its BN output channels, and
// all taps read them there: a tap is another place to read from. The weights stay for TILES tiles, one after
// the other, of which the next comes while one is multiplied. lws = {ITEMS, 1, 1}, gws = {ceil(channels / BN)
// * ITEMS, ceil(tiles / TILES), batch}.
//   x, y    NCHW4c buffers of f16 or, with PARTS 2, f32
//   filter  bias [blocks][4] as float, then weights [channel][tap][input channel], both kinds of channels
//           as many as pads: 4 * blocks, and TAP_CHUNKS * CHUNK
#ifndef TILE_H
#define TILE_H 4
#endif
#ifndef TILE_W
#define TILE_W 8
#endif
#ifndef BN
#define BN 32
#endif
#ifndef WM
#define WM 16
#endif
#ifndef WN
#define WN 16
#endif
#ifndef TILES
#define TILES 1
#endif
#define BM (TILE_H * TILE_W)
// Sums leave through the place of the window that they are made of.
#define PATCH_AT WINDOW_AT(t)
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#if FETTLE_HALF
#define FACTORS HALVES
#else
#define FACTORS FLOATS
#endif
#include "kernels/opencl/gemm/mma.clh"
#include "kernels/opencl/gemm/warp_tiles.clh"
#include "kernels/opencl/conv/geometry.clh"
#include "kernels/opencl/conv/window.clh"
#include "kernels/opencl/conv/bias.clh"

#define TAP_CHUNKS ((IN_QUADS + CHUNK_QUADS - 1) / CHUNK_QUADS)
#define CHUNKS (TAPS * TAP_CHUNKS)
#define CHUNK_PAIRS ((CHUNKS + 1) / 2)
#define PIXEL_BYTES PIXEL_PITCH(TAP_CHUNKS)
#define ROW_BYTES PIXEL_PITCH(CHUNKS)
// Local memory: one window or two, the weights, a chunk of zeros.
#define WINDOW_BYTES LARGER(WINDOW * PIXEL_BYTES, PATCH_BYTES)
#define WINDOW_AT(t) ((t) % 2 * WINDOW_BYTES)
#define WEIGHTS_AT ((TILES > 1 ? 2 : 1) * WINDOW_BYTES)
#define ZERO_AT (WEIGHTS_AT + BN * ROW_BYTES)
#define BIAS_AT (ZERO_AT + 16)
#define STORE_PART(tile_row, tile_column, p) STORE_PIXELS(tile_row, tile_column, p, BIAS_AT)

// Where chunk `k` of a pixel's sum lies from the pixel's first tap on.
#define PLACE_OF_CHUNK(k) \
  (WINDOW_PIXEL_OF_TAP((k) / TAP_CHUNKS) * PIXEL_BYTES + (k) % TAP_CHUNKS * 16)
// Behind an odd number of chunks both factors are zero.
#define HAS_CHUNK(k) (CHUNKS % 2 == 0 || (k) < CHUNKS)
// Of pairs of chunks, as many as ADD_TILE adds up at a time.
#define PAIRS_ADDED 4

#define COPY_WINDOW(tile, t)                                                              \
  {                                                                                       \
    const int first_row = ROW_OF_TILE(tile), first_column = COLUMN_OF_TILE(tile);         \
    for (int i = item; i < WINDOW * TAP_CHUNKS * CHUNK_QUADS; i += ITEMS) {               \
      const int quad = i / WINDOW, at = i % WINDOW;                                       \
      const int row = ROW_OF_WINDOW(at), column = COLUMN_OF_WINDOW(at);                   \
      COPY_QUAD(WINDOW_AT(t) + at * PIXEL_BYTES + quad * QUAD_BYTES,                      \
                image + ((quad * IN_H + row) * IN_W + column) * 4,                        \
                quad < IN_QUADS && IsInImage(row, column));                               \
    }                                                                                     \
  }

// The factors of two chunks: lanes name rows of the left one or of the right one.
static __attribute__((always_inline)) void LoadPair(__private factors_t* to, const int pair,
                                                    const uint window, __private const uint* pixels,
                                                    __private const uint* channels,
                                                    const int lane, WARP_PARAMS) {
  const bool right = CHUNK_BY_CHUNK(lane) != 0, has_right = HAS_CHUNK(pair * 2 + 1);
  const uint place = window + (right ? PLACE_OF_CHUNK(pair * 2 + 1) : PLACE_OF_CHUNK(pair * 2));
  UNROLL_INSTRUCTIONS for (int i = 0; i < WM / 16; ++i)
    LoadMatrices(to->a[i], has_right || !right ? pixels[i] + place : ZERO_AT, WARP_ARGS);
  const bool is_there = has_right || CHUNK_BY_HALF(lane) == 0;
  UNROLL_INSTRUCTIONS for (int j = 0; j < PIECES_OF_B; ++j)
    LoadMatrices(to->b[j], is_there ? channels[j] + pair * 32 : ZERO_AT, WARP_ARGS);
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void conv_window_mma(
    TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims, const int channels,
    __global const float* restrict filter, const int bias_floats EXPRESSION_PARAMS) {
  __local uchar local_memory[BIAS_AT + BN * 4] __attribute__((aligned(128)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_channel = (get_group_id(0) + get_global_offset(0) / ITEMS) * BN;
  const int first_tile = get_global_id(1) * TILES, n = get_global_id(2);
  __global const storage_t* weights = (__global const storage_t*)(filter + bias_floats);
  __global const storage_t* image = x + (x_offset + n * IN_QUADS * IN_H * IN_W) * 4;

  COPY_WINDOW(first_tile, 0)
  for (int i = item; i < BN * CHUNKS; i += ITEMS) {
    const int channel = min(first_channel + i / CHUNKS, out_dims.x * 4 - 1);
    COPY_16(WEIGHTS_AT + i / CHUNKS * ROW_BYTES + i % CHUNKS * 16,
            weights + (channel * CHUNKS + i % CHUNKS) * CHUNK, 16);
  }
  COPY_BIAS(BIAS_AT)
  if (item < 4) *(__local uint*)(local_memory + ZERO_AT + item * 4) = 0;
  COMMIT_COPIES;

  const int lane = item & 31, warp_row = item / 32 / WARPS_N, warp_column = item / 32 % WARPS_N;
  uint pixels[WM / 16], columns[WN / 16];
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
    const int of = warp_row * WM + i * 16 + ROW_BY_CHUNK(lane);
    pixels[i] = WINDOW_PIXEL(of) * PIXEL_BYTES;
  }
#pragma unroll
  for (int j = 0; j < WN / 16; ++j)
    columns[j] = WEIGHTS_AT + (warp_column * WN + j * 16 + ROW_BY_HALF(lane)) * ROW_BYTES +
                 CHUNK_BY_HALF(lane) * 16;
#pragma unroll 1
  for (int t = 0; t < TILES && first_tile + t < TILES_X * TILES_Y; ++t) {
    const int first_row = ROW_OF_TILE(first_tile + t), first_column = COLUMN_OF_TILE(first_tile + t);
    if (t + 1 < TILES && first_tile + t + 1 < TILES_X * TILES_Y) COPY_WINDOW(first_tile + t + 1, t + 1)
    COMMIT_COPIES;
    WAIT_COPIES(1);
    barrier(CLK_LOCAL_MEM_FENCE);
    DECLARE_TILE_SUMS(sum)
    factors_t factors[2];
    LoadPair(&factors[0], 0, WINDOW_AT(t), pixels, columns, lane, WARP_ARGS);
    UNROLL_INSTRUCTIONS for (int pair = 0; pair < CHUNK_PAIRS; ++pair) {
      if (pair + 1 < CHUNK_PAIRS)
        LoadPair(&factors[(pair + 1) % 2], pair + 1, WINDOW_AT(t), pixels, columns, lane, WARP_ARGS);
      AddProducts(&RUNNING(sum), &factors[pair % 2], WARP_ARGS);
      if (pair % PAIRS_ADDED == PAIRS_ADDED - 1 || pair + 1 == CHUNK_PAIRS) {
        ADD_TILE(sum)
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    STORE_TILES(sum)
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
