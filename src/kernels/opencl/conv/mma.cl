// Convolution by matrix instructions (gemm/warp_tiles.clh): a product of pixels and weights, in which the
// pixels under the kernel are gathered while they are copied to local memory. A work-group makes BM
// pixels of BN output channels: lws = {ITEMS, 1, 1}, gws = {ceil(channels / BN) * ITEMS, ceil(pixels / BM),
// batch}.
//   x, y    NCHW4c buffers of f16
//   filter  bias [blocks][4] as float, then weights [channel][tap][input channel], both kinds of channels
//           as many as pads: 4 * blocks, and TAP_CHUNKS * 8
// The geometry is compiled in: KERNEL_W taps a row, STRIDE_*, DILATION_*, PAD_*, TAPS, IN_*, OUT_*,
// IN_QUADS quads of input channels.
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
#define IN_QUADS 4
#endif
#define TAP_CHUNKS ((IN_QUADS + 1) / 2)
#define CHUNKS (TAPS * TAP_CHUNKS)
#define PIXELS (OUT_H * OUT_W)
// Where a tap is whole tiles of k, all copies of a tile are of one tap.
#define TAP_OF(tile, of_k) \
  (TAP_CHUNKS % A_CHUNKS == 0 ? (tile)*A_CHUNKS / TAP_CHUNKS : (of_k) / TAP_CHUNKS)
#define IS_PLAIN \
  (TAPS == 1 && STRIDE_H == 1 && STRIDE_W == 1 && PAD_H == 0 && PAD_W == 0 && IN_W == OUT_W)

#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/gemm/mma.clh"
#include "kernels/opencl/gemm/warp_tiles.clh"

// Lanes walk along pixels, four channels each.
#define PART 4
#define PART_ROW(part) ((part) % 16)
#define PART_COLUMN(part) ((part) / 16 * 4)

// Two neighbours bring a chunk of a pixel, a quad each: those are eight bytes of x.
#define COPY_A(tile, to)                                                                             \
  _Pragma("unroll") for (int f = 0; f < BM * A_CHUNKS * 2 / ITEMS; ++f) {                            \
    const int slot = (f * ITEMS + item) / 2, at = slot % BM, chunk = slot / BM;                      \
    const int of_k = (tile)*A_CHUNKS + chunk;                                                        \
    const int tap = TAP_OF(tile, of_k);                                                              \
    const int quad = (of_k - tap * TAP_CHUNKS) * 2 + item % 2;                                       \
    const int pixel = min(first_pixel + at, PIXELS - 1);                                             \
    const int row = IS_PLAIN ? 0 : pixel / OUT_W * STRIDE_H - PAD_H + tap / KERNEL_W * DILATION_H;   \
    const int column =                                                                               \
        IS_PLAIN ? pixel : pixel % OUT_W * STRIDE_W - PAD_W + tap % KERNEL_W * DILATION_W;           \
    const bool is_inside = of_k < CHUNKS && quad < IN_QUADS &&                                       \
                           (IS_PLAIN || (row >= 0 && row < IN_H && column >= 0 && column < IN_W));   \
    COPY_8((to) + CHUNK_AT(at, chunk, A_CHUNKS) + item % 2 * 8,                                      \
           image + ((quad * IN_H + row) * IN_W + column) * 4, is_inside ? 8 : 0);                    \
  }
#define COPY_B(tile, to)                                                                          \
  _Pragma("unroll") for (int f = 0; f < BN * B_CHUNKS / ITEMS; ++f) {                             \
    const int at = item / B_CHUNKS + f * (ITEMS / B_CHUNKS), chunk = item % B_CHUNKS;             \
    const int of_k = (tile)*B_CHUNKS + chunk, channel = min(first_channel + at, out_dims.x * 4 - 1); \
    COPY_16((to) + CHUNK_AT(at, chunk, B_CHUNKS), weights + (channel * CHUNKS + of_k) * 8,        \
            of_k < CHUNKS ? 16 : 0);                                                              \
  }
#define COPY_TILE(tile, place)      \
  {                                 \
    COPY_A(tile, place)             \
    COPY_B(tile, (place) + A_BYTES) \
  }
#define STORE_PART(tile_row, tile_column, p)                                                      \
  {                                                                                               \
    const int pixel = first_pixel + (tile_row), block = (first_channel + (tile_column)) / 4;      \
    if (pixel < PIXELS && block < out_dims.x) {                                                   \
      const int row = pixel / OUT_W, column = pixel % OUT_W;                                      \
      const float4 v = vload4(0, p) + vload4(block, filter);                                      \
      STORE4(FINISH(v, out_dims, n, block, row, column), y, out_dims, n, block, row, column);     \
    }                                                                                             \
  }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void conv_mma(
    TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims, const int channels,
    __global const float* restrict filter, const int bias_floats EXPRESSION_PARAMS) {
  __local uchar local_memory[TILE_BYTES] __attribute__((aligned(128)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_channel = (get_group_id(0) + get_global_offset(0) / ITEMS) * BN;
  const int first_pixel = get_global_id(1) * BM;
  const int n = get_global_id(2);
  __global const storage_t* weights = (__global const storage_t*)(filter + bias_floats);
  __global const storage_t* image = x + (x_offset + n * IN_QUADS * IN_H * IN_W) * 4;

  WARP_TILES(sum, (CHUNKS + A_CHUNKS - 1) / A_CHUNKS)
  STORE_TILES(sum, local_memory)
}
