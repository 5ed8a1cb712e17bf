// Convolution as a matrix product of weights and windows that nobody writes down: a work-group
// brings DEPTH rows of weights and of windows to local memory at a time, each work-item keeps
// OC_ITEM output channels of PIXEL_ITEM pixels in registers. What suits GPUs with local memory of
// their own. SLICES parts of a work-group share the depth and add their sums at the end: what
// fills a large GPU where there are few outputs.
//   gws = {ceil(pixels / PIXEL_TILE) * lws[0], ceil(oc / OC_TILE) * lws[1], batch * SLICES}
//   lws = {PIXEL_TILE / PIXEL_ITEM, OC_TILE / OC_ITEM, SLICES}
//   x, y    NCHW4c buffers or NC4HW4 images (access.clh)
//   filter  bias [oc, rounded up to OC_TILE] as float, then weights of the storage type
//           [tap][input channel, rounded up to 4][oc, rounded up], rounded up to DEPTH * SLICES
//           rows
//   OC_TILE, PIXEL_TILE  what a work-group computes; DEPTH  rows of a tile, a multiple of 4
#ifndef OC_TILE
#define OC_TILE 64
#endif
#ifndef PIXEL_TILE
#define PIXEL_TILE 64
#endif
#ifndef DEPTH
#define DEPTH 16
#endif
#ifndef SLICES
#define SLICES 1
#endif
#ifndef OC_ITEM
#define OC_ITEM 4
#endif
#ifndef PIXEL_ITEM
#define PIXEL_ITEM 4
#endif
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#define QUADS 1
#define TILE_W 1
#include "kernels/opencl/conv/tile.clh"

#define COLUMN_ITEMS (PIXEL_TILE / PIXEL_ITEM)
#define ROW_ITEMS (OC_TILE / OC_ITEM)
#define ITEMS (COLUMN_ITEMS * ROW_ITEMS)
// Quads that a work-item fetches of a tile of weights, and of windows.
#define FILTER_FETCHES (OC_TILE * DEPTH / 4 / ITEMS)
#define WINDOW_FETCHES (PIXEL_TILE * DEPTH / 4 / ITEMS)
// Floats of local memory: a slice's two tiles; later the sums of half of the slices.
#define SLICE_FLOATS (DEPTH * (OC_TILE + PIXEL_TILE))
#define SUM_FLOATS (OC_TILE * PIXEL_TILE)
#define TILE_FLOATS (SLICES * SLICE_FLOATS)
#define HALF_FLOATS (SLICES / 2 * SUM_FLOATS)
#define LOCAL_FLOATS (TILE_FLOATS > HALF_FLOATS ? TILE_FLOATS : HALF_FLOATS)

// The four channels of input quad `step` (counted over taps, then quads) that `place`, a (row,
// column) of the output, reads; zero beyond the window and the input.
float4 LoadWindow(TENSOR_IN(x), const int4 in_dims, const int n, const int step, const int2 place,
                  const int4 window, const int4 borders) {
  const int tap = step / in_dims.x;
  const int row = place.x * window.z - borders.x + tap / window.y * borders.z;
  const int column = place.y * window.w - borders.y + tap % window.y * borders.w;
  const bool inside = tap < window.x * window.y && row >= 0 && row < in_dims.y && column >= 0 &&
                      column < in_dims.z;
  if (!inside) return (float4)(0.0f);
  return LOAD4(x, in_dims, n, step % in_dims.x, row, column);
}

#define FETCH(first)                                                                            \
  _Pragma("unroll") for (int f = 0; f < FILTER_FETCHES; ++f) {                                  \
    const int quad = f * ITEMS + item;                                                          \
    filter_regs[f] = LOAD_VEC4(weights, (((first) + quad / (OC_TILE / 4)) * padded_oc +         \
                                         first_oc) / 4 + quad % (OC_TILE / 4));                 \
  }                                                                                             \
  _Pragma("unroll") for (int f = 0; f < WINDOW_FETCHES; ++f)                                    \
      window_regs[f] = LoadWindow(x, x_offset, in_dims, n,                                      \
                                  (first) / 4 + (f * ITEMS + item) / PIXEL_TILE, places[f],     \
                                  window, borders);

#define KEEP                                                                                    \
  _Pragma("unroll") for (int f = 0; f < FILTER_FETCHES; ++f)                                    \
      vstore4(filter_regs[f], f * ITEMS + item, filter_tile);                                   \
  _Pragma("unroll") for (int f = 0; f < WINDOW_FETCHES; ++f) {                                  \
    const int quad = f * ITEMS + item;                                                          \
    __local float* to = window_tile + quad / PIXEL_TILE * 4 * PIXEL_TILE + quad % PIXEL_TILE;   \
    to[0] = window_regs[f].x;                                                                   \
    to[PIXEL_TILE] = window_regs[f].y;                                                          \
    to[2 * PIXEL_TILE] = window_regs[f].z;                                                      \
    to[3 * PIXEL_TILE] = window_regs[f].w;                                                      \
  }

// Where slice `slice` leaves the sums of quad `i` and pixel `j` for the one that adds them.
#define SUM_PLACE(slice, i, j) \
  ((((slice) * (OC_ITEM / 4) + (i)) * PIXEL_ITEM + (j)) * ITEMS + item)

__kernel __attribute__((reqd_work_group_size(COLUMN_ITEMS, ROW_ITEMS, SLICES))) void conv_local(
    TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims, const int channels,
    __global const float* restrict filter, const int padded_oc, const int4 window,
    const int4 borders, const int depth EXPRESSION_PARAMS) {
  __local float shared[LOCAL_FLOATS] __attribute__((aligned(16)));
  const int slice = get_local_id(2);
  __local float* const filter_tile = shared + slice * SLICE_FLOATS;
  __local float* const window_tile = filter_tile + DEPTH * OC_TILE;
  const int pixels = out_dims.y * out_dims.z;
  const int item = get_local_id(1) * COLUMN_ITEMS + get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_pixel =
      (get_group_id(0) + get_global_offset(0) / COLUMN_ITEMS) * PIXEL_TILE;
  const int first_oc = (get_group_id(1) + get_global_offset(1) / ROW_ITEMS) * OC_TILE;
  const int n = get_global_id(2) / SLICES;
  __global const storage_t* weights = (__global const storage_t*)(filter + padded_oc);

  int2 places[WINDOW_FETCHES];
#pragma unroll
  for (int f = 0; f < WINDOW_FETCHES; ++f) {
    const int pixel = min(first_pixel + (f * ITEMS + item) % PIXEL_TILE, pixels - 1);
    places[f] = (int2)(pixel / out_dims.z, pixel % out_dims.z);
  }
  float4 sum[OC_ITEM / 4][PIXEL_ITEM];
#pragma unroll
  for (int i = 0; i < OC_ITEM / 4; ++i) {
    const float4 bias = slice == 0 ? vload4(first_oc / 4 + i * ROW_ITEMS + get_local_id(1), filter)
                                   : (float4)(0.0f);
#pragma unroll
    for (int j = 0; j < PIXEL_ITEM; ++j) sum[i][j] = bias;
  }

  float4 filter_regs[FILTER_FETCHES], window_regs[WINDOW_FETCHES];
  const int slice_end = (slice + 1) * (depth / SLICES);
  int first = slice * (depth / SLICES);
  FETCH(first)
  for (; first < slice_end; first += DEPTH) {
    KEEP
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first + DEPTH < slice_end) {
      FETCH(first + DEPTH)
    }
#pragma unroll
    for (int p = 0; p < DEPTH; ++p) {
      float4 left[OC_ITEM / 4];
      float right[PIXEL_ITEM];
#pragma unroll
      for (int i = 0; i < OC_ITEM / 4; ++i)
        left[i] = vload4(p * (OC_TILE / 4) + i * ROW_ITEMS + get_local_id(1), filter_tile);
#pragma unroll
      for (int j = 0; j < PIXEL_ITEM; ++j)
        right[j] = window_tile[p * PIXEL_TILE + j * COLUMN_ITEMS + get_local_id(0)];
#pragma unroll
      for (int i = 0; i < OC_ITEM / 4; ++i)
#pragma unroll
        for (int j = 0; j < PIXEL_ITEM; ++j)
          sum[i][j] = MULTIPLY_ADD(left[i], (float4)(right[j]), sum[i][j]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  for (int half_count = SLICES / 2; half_count > 0; half_count /= 2) {
#pragma unroll
    for (int i = 0; i < OC_ITEM / 4; ++i)
#pragma unroll
      for (int j = 0; j < PIXEL_ITEM; ++j)
        if (slice >= half_count && slice < 2 * half_count)
          vstore4(sum[i][j], SUM_PLACE(slice - half_count, i, j), shared);
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < OC_ITEM / 4; ++i)
#pragma unroll
      for (int j = 0; j < PIXEL_ITEM; ++j)
        if (slice < half_count) sum[i][j] += vload4(SUM_PLACE(slice, i, j), shared);
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#pragma unroll
  for (int j = 0; j < PIXEL_ITEM && slice == 0; ++j) {
    const int pixel = first_pixel + j * COLUMN_ITEMS + get_local_id(0);
    if (pixel < pixels) {
      const int row = pixel / out_dims.z, column = pixel % out_dims.z;
#pragma unroll
      for (int i = 0; i < OC_ITEM / 4; ++i) {
        const int block = first_oc / 4 + i * ROW_ITEMS + get_local_id(1);
        STORE_QUAD(sum[i][j], block)
      }
    }
  }
}
