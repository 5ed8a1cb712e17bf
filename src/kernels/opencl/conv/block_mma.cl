// Convolution of many input channels by matrix instructions (gemm/mma.clh): a work-group brings the window
// under TILE_H x TILE_W output pixels to local memory a block of channels at a time, reads it once for each
// tap, and meanwhile brings the next block to a second place, a part with the weights of each tap. So a pixel
// crosses to local memory once, not once for each tap as in conv/mma.cl. lws = {ITEMS, 1, 1}, gws =
// {ceil(channels / BN) * ITEMS, tiles, batch * OUT_D * SPLIT}; SPLIT groups share a tile, some blocks each.
// A tile is of one plane of a volume: its blocks are those of the planes under the kernel, of which none is
// brought that is all padding.
//   x, y    NCHW4c buffers, of volumes NCDHW4c, of f16 or, with PARTS 2, f32
//   filter  bias [blocks][4] as float, then weights [channel][tap][input channel], output channels as many
//           as pads, 4 * blocks, input channels whole blocks
// A block is BK pairs of bytes of each pixel; a tile of warp_tiles.clh is the weights of one tap of it.
#ifndef TILE_H
#define TILE_H 4
#endif
#ifndef TILE_W
#define TILE_W 8
#endif
#ifndef WM
#define WM 16
#endif
#define BM ((TILE_H * TILE_W + WM - 1) / WM * WM)
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#if FETTLE_HALF
#define FACTORS HALVES
#else
#define FACTORS FLOATS
#endif
// The left factors lie in the window of a block, where LOAD_A finds them by the places of a lane's pixels.
#define A_BYTES 0
#define LEFT_PARAMS , __private const uint *pixels
#define LEFT_ARGS , pixels
#define LEFT_PLACE(stage, tile) \
  (WINDOW_AT((tile) / PLANE_TAPS) + WINDOW_PIXEL_OF_TAP((tile) % PLANE_TAPS) * PIXEL_BYTES)
#define LOAD_A(to, at, i) LoadMatrices(to, (at) + pixels[i] + step * 32, WARP_ARGS)
#include "kernels/opencl/gemm/mma.clh"
#include "kernels/opencl/conv/geometry.clh"
#define PIXEL_BYTES PIXEL_PITCH(BK / 8)
#define WINDOW_AT(block) (STAGES * STAGE_BYTES + (block) % WINDOWS * (WINDOW * PIXEL_BYTES))
#include "kernels/opencl/gemm/warp_tiles.clh"
#define PLANE_ROW (plane % OUT_D * OUT_H)
#include "kernels/opencl/conv/window.clh"
#include "kernels/opencl/conv/bias.clh"

#define BLOCK_QUADS (K_STEPS / 4)
// Those of a plane, and of all planes of taps, one after the other.
#define PLANE_BLOCKS ((IN_QUADS + BLOCK_QUADS - 1) / BLOCK_QUADS)
#define BLOCKS (KERNEL_D * PLANE_BLOCKS)
#define PLANE_OF(block) (KERNEL_D == 1 ? 0 : (block) / PLANE_BLOCKS)
#define IN_PLANE(block) (KERNEL_D == 1 ? (block) : (block) % PLANE_BLOCKS)
// A slice of one block needs no second place.
#define WINDOWS ((BLOCKS + SPLIT - 1) / SPLIT > 1 ? 2 : 1)
#define SUMS_BYTES LARGER(PATCH_BYTES, PART_BYTES)
#define LOCAL_BYTES LARGER(WINDOW_AT(0) + WINDOWS * WINDOW * PIXEL_BYTES, SUMS_BYTES)
#define TILE_OF_GROUP \
  ((plane * (TILES_X * TILES_Y) + tile) * ((out_dims.x * 4 + BN - 1) / BN) + first_channel / BN)
#define STORE_PART(tile_row, tile_column, p) \
  if ((tile_row) < TILE_H * TILE_W) \
    STORE_PIXELS(tile_row, tile_column, p, LOCAL_BYTES)

// The planes of taps of an output plane that lie inside, whose first lies at `first`.
#define FIRST_INSIDE(first) (KERNEL_D == 1 ? 0 : max(0, (DILATION_D - 1 - (first)) / DILATION_D))
#define END_INSIDE(first) (KERNEL_D == 1 ? 1 : min(KERNEL_D, (IN_D - (first) + DILATION_D - 1) / DILATION_D))

// A window comes in parts, some quads of all its pixels each, while the taps of the one before are
// multiplied: the first with the weights that are asked for at its first tap, STAGES - 1 taps ahead, the last
// with those of the new block's first tap, or sooner.
#define MOST_PARTS (PLANE_TAPS - STAGES + 2)
#define PART_QUADS ((BLOCK_QUADS + MOST_PARTS - 1) / MOST_PARTS)
#define WINDOW_PARTS ((BLOCK_QUADS + PART_QUADS - 1) / PART_QUADS)
// Neighbours bring neighbouring quads of a pixel, which lie apart in x.
#define SLOTS (WINDOW * PART_QUADS)
#define SLOT(f) ((f)*ITEMS + item)
#define COPIES_OF_PART ((SLOTS + ITEMS - 1) / ITEMS)
#define COPY_WINDOW(block, part)                                                                       \
  _Pragma("unroll") for (int f = 0; f < COPIES_OF_PART; ++f) {                                         \
    const int quad = (part)*PART_QUADS + SLOT(f) % PART_QUADS;                                         \
    if (SLOT(f) < SLOTS && (BLOCK_QUADS % PART_QUADS == 0 || quad < BLOCK_QUADS))                      \
      COPY_QUAD(WINDOW_AT((block) - first_block) + SLOT(f) / PART_QUADS * PIXEL_BYTES + quad * QUAD_BYTES, \
                image + place_of[f] +                                                                  \
                    (IN_PLANE(block) * BLOCK_QUADS + (part)*PART_QUADS) * (IN_D * IN_H * IN_W * 4) +   \
                    PLANE_OF(block) * (DILATION_D * IN_H * IN_W * 4),                                  \
                (inside >> f & 1) != 0 &&                                                              \
                    (IN_QUADS % BLOCK_QUADS == 0 || IN_PLANE(block) * BLOCK_QUADS + quad < IN_QUADS)); \
  }
#define COPY_WEIGHTS(tile, to)                                                                  \
  _Pragma("unroll") for (int f = 0; f < (BN * B_CHUNKS + ITEMS - 1) / ITEMS; ++f) {             \
    const int at = SLOT(f) / B_CHUNKS, chunk = SLOT(f) % B_CHUNKS;                              \
    const int channel = min(first_channel + at, out_dims.x * 4 - 1);                            \
    const int tap = PLANE_OF((tile) / PLANE_TAPS) * PLANE_TAPS + (tile) % PLANE_TAPS;           \
    const int of_k = (tap * PLANE_BLOCKS + IN_PLANE((tile) / PLANE_TAPS)) * B_CHUNKS + chunk;   \
    if (BN * B_CHUNKS % ITEMS == 0 || at < BN)                                                  \
      COPY_16((to) + CHUNK_AT(at, chunk, B_CHUNKS),                                             \
              weights + (channel * (PLANE_TAPS * BLOCKS * B_CHUNKS) + of_k) * CHUNK,            \
              first_channel + at < out_dims.x * 4 ? 16 : 0);                                    \
  }
// Ahead by STAGES - 1 taps, so that a part of a window belongs to the tap that is multiplied meanwhile.
#define COPY_TILE(ahead, place)                                                                 \
  {                                                                                             \
    COPY_WEIGHTS(ahead, place)                                                                  \
    const int now = (ahead)-first_block * PLANE_TAPS - (STAGES - 1);                                  \
    if (WINDOWS > 1 && now >= 0 && now % PLANE_TAPS < WINDOW_PARTS && now / PLANE_TAPS + 1 < blocks)        \
      COPY_WINDOW(first_block + now / PLANE_TAPS + 1, now % PLANE_TAPS)                                     \
  }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void conv_block_mma(
    TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims, const int channels,
    __global const float* restrict filter, const int bias_floats SPLIT_PARAMS EXPRESSION_PARAMS) {
  __local uchar local_memory[LOCAL_BYTES + BN * 4] __attribute__((aligned(1024)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_channel = (get_group_id(0) + get_global_offset(0) / ITEMS) * BN;
  const int tile = get_global_id(1);
  const int plane = get_global_id(2) / SPLIT, slice = get_global_id(2) % SPLIT;
  const int n = plane / OUT_D, first_plane = plane % OUT_D * STRIDE_D - PAD_D;
  const int first_row = ROW_OF_TILE(tile), first_column = COLUMN_OF_TILE(tile);
  const int outside = FIRST_INSIDE(first_plane), inside_planes = max(END_INSIDE(first_plane) - outside, 0);
  const int first_block = outside * PLANE_BLOCKS + FIRST_OF_SLICE(slice, inside_planes * PLANE_BLOCKS);
  const int blocks = TILES_OF_SLICE(slice, inside_planes * PLANE_BLOCKS);
  __global const storage_t* weights = (__global const storage_t*)(filter + bias_floats);
  __global const storage_t* image =
      x + (x_offset + (n * IN_QUADS * IN_D + first_plane) * (IN_H * IN_W)) * 4;

  COPY_BIAS(LOCAL_BYTES)
  int place_of[COPIES_OF_PART];
  uint inside = 0;
#pragma unroll
  for (int f = 0; f < COPIES_OF_PART; ++f) {
    const int at = SLOT(f) / PART_QUADS;
    const int row = ROW_OF_WINDOW(at), column = COLUMN_OF_WINDOW(at);
    place_of[f] = ((SLOT(f) % PART_QUADS * IN_D * IN_H + row) * IN_W + column) * 4;
    inside |= (uint)IsInImage(row, column) << f;
  }
  for (int part = 0; part < WINDOW_PARTS && blocks > 0; ++part) COPY_WINDOW(first_block, part)
  uint pixels[WM / 16];
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
    const int of = item % TILE_ITEMS / 32 / WARPS_N * WM + i * 16 + ROW_BY_CHUNK(item & 31);
    pixels[i] = (of < TILE_H * TILE_W ? WINDOW_PIXEL(of) : 0) * PIXEL_BYTES + CHUNK_BY_CHUNK(item & 31) * 16;
  }
  WARP_TILES(sum, first_block * PLANE_TAPS, blocks * PLANE_TAPS)
  JOIN_SLICES(sum, TILE_OF_GROUP, slice)
  STORE_TILES(sum)
}
