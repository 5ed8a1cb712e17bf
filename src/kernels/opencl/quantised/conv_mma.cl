// Convolution of bytes by matrix instructions (mma.clh), whose pixels are gathered (conv/gathered_tiles.clh).
//   x       NCHW4c buffer of IN_TYPE; beyond the borders it is its zero point
//   y       RESULT 1 or 2: NCHW4c buffer of OUT_TYPE, else pixels of floats (access.clh)
//   filter  as mma.clh says, weights [channel][tap][input channel]
#define QUADS 1
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/quantised/bytes.clh"
#include "kernels/opencl/quantised/mma.clh"
#include "kernels/opencl/conv/gathered_tiles.clh"

#define STORE_PART(tile_row, tile_column, p)                                                  \
  {                                                                                           \
    const int pixel = first_pixel + (tile_row), block = (first_channel + (tile_column)) / 4;  \
    if (pixel < PIXELS && block < out_dims.x) {                                               \
      const int row = pixel / OUT_W, column = pixel % OUT_W;                                  \
      STORE_SUMS(p, block)                                                                    \
    }                                                                                         \
  }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void quantised_conv_mma(
    BYTE_PARAMS(OUTPUT), const int4 out_dims SPLIT_PARAMS EXPRESSION_PARAMS) {
  __local uchar local_memory[TILE_BYTES] __attribute__((aligned(1024)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_channel = (get_group_id(0) + get_global_offset(0) / ITEMS) * BN;
  const int first_pixel = get_global_id(1) * BM;
  const int n = get_global_id(2) / SPLIT, slice = get_global_id(2) % SPLIT;
  const int x_zero = X_ZERO;
  const uint border = (x_zero & 255) * 0x01010101u;
  __global const int* filter = filter_at + filter_offset;
  __global const char* weights = (__global const char*)(filter + 3 * padded);
  __global const IN_TYPE* image = x + (x_offset + n * IN_QUADS * IN_H * IN_W) * 4;

  DECLARE_PLACES
  WARP_TILES(sum, FIRST_OF_SLICE(slice, K_TILES), TILES_OF_SLICE(slice, K_TILES))
  JOIN_SLICES(sum, TILE_OF_GROUP, slice)
  STORE_TILES(sum)
}
