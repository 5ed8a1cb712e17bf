// Convolution of few input channels by matrix instructions (gemm/mma.clh): a work-group brings the window
// under TILE_H x TILE_W output pixels to local memory once, with the weights of its BN output channels, and
// all taps read them there: a tap is another place to read from. lws = {ITEMS, 1, 1}, gws = {ceil(channels /
// BN) * ITEMS, tiles, batch}.
//   x, y    NCHW4c buffers of f16
//   filter  bias [blocks][4] as float, then weights [channel][tap][input channel], both kinds of channels
//           as many as pads: 4 * blocks, and TAP_CHUNKS * 8
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
#define BM (TILE_H * TILE_W)
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#define FACTORS HALVES
#include "kernels/opencl/gemm/mma.clh"
#include "kernels/opencl/gemm/warp_tiles.clh"
#include "kernels/opencl/conv/geometry.clh"
#include "kernels/opencl/conv/bias.clh"

#define TAP_CHUNKS ((IN_QUADS + 1) / 2)
#define CHUNKS (TAPS * TAP_CHUNKS)
#define CHUNK_PAIRS ((CHUNKS + 1) / 2)
#define WINDOW_H ((TILE_H - 1) * STRIDE_H + (TAPS / KERNEL_W - 1) * DILATION_H + 1)
#define WINDOW_W ((TILE_W - 1) * STRIDE_W + (KERNEL_W - 1) * DILATION_W + 1)
#define WINDOW (WINDOW_H * WINDOW_W)
// Rows of an odd number of chunks: the eight that one instruction reads lie in different banks.
#define PIXEL_BYTES ((TAP_CHUNKS | 1) * 16)
#define ROW_BYTES ((CHUNKS | 1) * 16)
// Local memory: the window, the weights, a chunk of zeros.
#define WEIGHTS_AT (WINDOW * PIXEL_BYTES)
#define ZERO_AT (WEIGHTS_AT + BN * ROW_BYTES)
#define WINDOW_BYTES LARGER(ZERO_AT + 16, PATCH_BYTES)
#define TILES_X ((OUT_W + TILE_W - 1) / TILE_W)

#define PART 4
#define PART_ROW(part) ((part) % 16)
#define PART_COLUMN(part) ((part) / 16 * 4)
#define BIAS_OF(column) *(__local const float4*)(local_memory + WINDOW_BYTES + (column)*4)
#define STORE_PART(tile_row, tile_column, p)                                                      \
  {                                                                                               \
    const int row = first_row + (tile_row) / TILE_W, column = first_column + (tile_row) % TILE_W; \
    const int block = (first_channel + (tile_column)) / 4;                                        \
    if (row < OUT_H && column < OUT_W && block < out_dims.x) {                                    \
      const float4 v = vload4(0, p) + BIAS_OF(tile_column);                                       \
      STORE4(FINISH(v, out_dims, n, block, row, column), y, out_dims, n, block, row, column);     \
    }                                                                                             \
  }

// Where chunk `k` of a pixel's sum lies from the pixel's first tap on.
#define PLACE_OF_CHUNK(k)                                                                   \
  (((k) / TAP_CHUNKS / KERNEL_W * DILATION_H * WINDOW_W +                                   \
    (k) / TAP_CHUNKS % KERNEL_W * DILATION_W) * PIXEL_BYTES + (k) % TAP_CHUNKS * 16)
// Behind an odd number of chunks both factors are zero.
#define HAS_CHUNK(k) (CHUNKS % 2 == 0 || (k) < CHUNKS)

// The factors of two chunks: lanes name rows of the left one or of the right one.
static __attribute__((always_inline)) void LoadPair(__private factors_t* to, const int pair,
                                                    __private const uint* pixels,
                                                    __private const uint* channels,
                                                    const int lane, WARP_PARAMS) {
  const bool right = CHUNK_BY_CHUNK(lane) != 0, has_right = HAS_CHUNK(pair * 2 + 1);
  const uint place = right ? PLACE_OF_CHUNK(pair * 2 + 1) : PLACE_OF_CHUNK(pair * 2);
  UNROLL_INSTRUCTIONS for (int i = 0; i < WM / 16; ++i)
    LoadMatrices(to->a[i], has_right || !right ? pixels[i] + place : ZERO_AT, WARP_ARGS);
  const bool is_there = has_right || CHUNK_BY_HALF(lane) == 0;
  UNROLL_INSTRUCTIONS for (int j = 0; j < WN / 16; ++j)
    LoadMatrices(to->b[j], is_there ? channels[j] + pair * 32 : ZERO_AT, WARP_ARGS);
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void conv_window_mma(
    TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims, const int channels,
    __global const float* restrict filter, const int bias_floats EXPRESSION_PARAMS) {
  __local uchar local_memory[WINDOW_BYTES + BN * 4] __attribute__((aligned(128)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_channel = (get_group_id(0) + get_global_offset(0) / ITEMS) * BN;
  const int tile = get_global_id(1), n = get_global_id(2);
  const int first_row = tile / TILES_X * TILE_H, first_column = tile % TILES_X * TILE_W;
  __global const storage_t* weights = (__global const storage_t*)(filter + bias_floats);
  __global const storage_t* image = x + (x_offset + n * IN_QUADS * IN_H * IN_W) * 4;

  for (int i = item; i < WINDOW * TAP_CHUNKS * 2; i += ITEMS) {
    const int quad = i / WINDOW, at = i % WINDOW;
    const int row = first_row * STRIDE_H - PAD_H + at / WINDOW_W;
    const int column = first_column * STRIDE_W - PAD_W + at % WINDOW_W;
    const bool is_inside =
        quad < IN_QUADS && row >= 0 && row < IN_H && column >= 0 && column < IN_W;
    COPY_8(at * PIXEL_BYTES + quad * 8, image + ((quad * IN_H + row) * IN_W + column) * 4,
           is_inside ? 8 : 0);
  }
  for (int i = item; i < BN * CHUNKS; i += ITEMS) {
    const int channel = min(first_channel + i / CHUNKS, out_dims.x * 4 - 1);
    COPY_16(WEIGHTS_AT + i / CHUNKS * ROW_BYTES + i % CHUNKS * 16,
            weights + (channel * CHUNKS + i % CHUNKS) * 8, 16);
  }
  COPY_BIAS(WINDOW_BYTES)
  if (item < 4) *(__local uint*)(local_memory + ZERO_AT + item * 4) = 0;
  COMMIT_COPIES;

  const int lane = item & 31, warp_row = item / 32 / WARPS_N, warp_column = item / 32 % WARPS_N;
  uint pixels[WM / 16], columns[WN / 16];
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
    const int of = warp_row * WM + i * 16 + ROW_BY_CHUNK(lane);
    pixels[i] = (of / TILE_W * STRIDE_H * WINDOW_W + of % TILE_W * STRIDE_W) * PIXEL_BYTES;
  }
#pragma unroll
  for (int j = 0; j < WN / 16; ++j)
    columns[j] = WEIGHTS_AT + (warp_column * WN + j * 16 + ROW_BY_HALF(lane)) * ROW_BYTES +
                 CHUNK_BY_HALF(lane) * 16;
  sums_t sum;
#pragma unroll
  for (int q = 0; q < SUM_QUADS; ++q)
#pragma unroll
    for (int r = 0; r < 4; ++r) SUM_QUAD(&sum, q)[r] = 0.0f;
  WAIT_COPIES(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  factors_t factors[2];
  LoadPair(&factors[0], 0, pixels, columns, lane, WARP_ARGS);
  UNROLL_INSTRUCTIONS for (int pair = 0; pair < CHUNK_PAIRS; ++pair) {
    if (pair + 1 < CHUNK_PAIRS)
      LoadPair(&factors[(pair + 1) % 2], pair + 1, pixels, columns, lane, WARP_ARGS);
    AddProducts(&sum, &factors[pair % 2], WARP_ARGS);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  STORE_TILES(sum)
}
