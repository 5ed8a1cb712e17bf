// Convolution by matrix instructions (gathered_tiles.clh), of f16 or, as TF32, of f32.
//   x, y    NCHW4c buffers, of volumes NCDHW4c, of f16 or (FETTLE_HALF 0) f32
//   filter  bias [blocks][4] as float, then weights as gathered_tiles.clh says
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#if FETTLE_HALF
#define FACTORS HALVES
#else
#define FACTORS FLOATS
#endif
#include "kernels/opencl/gemm/mma.clh"
#include "kernels/opencl/gemm/warp_tiles.clh"
#include "kernels/opencl/conv/gathered_tiles.clh"
#include "kernels/opencl/conv/bias.clh"

#define BIAS_OF(column) *(__local const float4*)(local_memory + TILE_BYTES + (column)*4)
// What is outside is finished as the last pixel or block inside, so that reads of several parts are on their way
// at once.
#define STORE_PART(tile_row, tile_column, p)                                                           \
  {                                                                                                    \
    const int of_pixels = first_pixel + (tile_row), of_blocks = (first_channel + (tile_column)) / 4;   \
    const int pixel = PIXELS % BM == 0 ? of_pixels : min(of_pixels, PIXELS - 1);                       \
    const int block = EVEN_CHANNELS ? of_blocks : min(of_blocks, out_dims.x - 1);                      \
    const int row = pixel / OUT_W, column = pixel % OUT_W;                                             \
    const float4 v = vload4(0, p) + BIAS_OF(tile_column);                                              \
    const float4 finished = FINISH(v, out_dims, n, block, row, column);                                \
    if (pixel == of_pixels && block == of_blocks) STORE4(finished, y, out_dims, n, block, row, column); \
  }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void conv_mma(
    TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims, const int channels,
    __global const float* restrict filter, const int bias_floats SPLIT_PARAMS EXPRESSION_PARAMS) {
  __local uchar local_memory[TILE_BYTES + BN * 4] __attribute__((aligned(1024)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_channel = (get_group_id(0) + get_global_offset(0) / ITEMS) * BN;
  const int first_pixel = get_global_id(1) * BM;
  const int n = get_global_id(2) / SPLIT, slice = get_global_id(2) % SPLIT;
  __global const storage_t* weights = (__global const storage_t*)(filter + bias_floats);
  __global const storage_t* image = x + (x_offset + (n * IN_QUADS + FIRST_QUAD) * IN_D * IN_H * IN_W) * 4;

  COPY_BIAS(TILE_BYTES)
  DECLARE_PLACES
  WARP_TILES(sum, FIRST_OF_SLICE(slice, K_TILES), TILES_OF_SLICE(slice, K_TILES))
  JOIN_SLICES(sum, TILE_OF_GROUP, slice)
  STORE_TILES(sum)
}
