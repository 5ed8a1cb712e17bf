// Second stage of a Winograd convolution by matrix instructions (gemm/warp_tiles.clh): one product per place
// of a patch, of f16 or, with PARTS 2, of f32. A work-group makes BM patches of BN output channels, or a slice
// of their sums: lws = {ITEMS, 1, 1}, gws = {ceil(channels / BN) * ITEMS, ceil(patches / BM), places * SPLIT}
//   v       [place][input chunk][patch] of chunks of 16 bytes; of volumes of the patches of all input planes,
//           OF_PLANE each, of which a patch is made of KERNEL_D planes: `chunks` are PLANE_CHUNKS of each
//   m       [place][output quad][patch][4]
//   filter  transformed weights from `weights` floats on, [place][channel][input chunk], as many channels as
//           whole quads have
#include "kernels/opencl/access.clh"
#if FETTLE_HALF
#define FACTORS HALVES
#else
#define FACTORS FLOATS
#endif
#include "kernels/opencl/gemm/mma.clh"
#include "kernels/opencl/gemm/warp_tiles.clh"

// Lanes walk along patches, four channels each.
#define PART 4
#define PART_ROW(part) ((part) % 16)
#define PART_COLUMN(part) ((part) / 16 * 4)
#define STORE_PART(tile_row, tile_column, p)                                             \
  {                                                                                      \
    const int row = first_patch + (tile_row), quad = (first_channel + (tile_column)) / 4; \
    if (row < patches && quad < quads)                                                   \
      STORE_VEC4(vload4(0, p), m, m_offset + (place * quads + quad) * patches + row);    \
  }
#define TILE_OF_GROUP                                                               \
  ((place * ((patches + BM - 1) / BM) + first_patch / BM) * ((quads * 4 + BN - 1) / BN) + \
   first_channel / BN)

#ifdef OF_PLANE
#define IN_PATCHES (patches / OUT_D * IN_D)
#define OF_PLACE (PLANE_CHUNKS * IN_PATCHES)
#define PLANE_UNDER(row, of_k) ((row) / OF_PLANE % OUT_D + (of_k) / PLANE_CHUNKS - PAD_D)
#define IS_PLANE(row, of_k) (PLANE_UNDER(row, of_k) >= 0 && PLANE_UNDER(row, of_k) < IN_D)
#define CHUNK_UNDER(row, of_k)                                                     \
  ((of_k) % PLANE_CHUNKS * IN_PATCHES +                                            \
   ((row) / (OF_PLANE * OUT_D) * IN_D + PLANE_UNDER(row, of_k)) * OF_PLANE + (row) % OF_PLANE)
#else
#define OF_PLACE (chunks * patches)
#define IS_PLANE(row, of_k) true
#define CHUNK_UNDER(row, of_k) ((of_k)*patches + (row))
#endif

// What lies outside is zero, of which nothing is read: lanes that repeat what is inside wait for each other.
// Neighbours bring neighbouring patches.
#define SLOT(f) ((f)*ITEMS + item)
#define COPY_TILE(tile, to)                                                                       \
  {                                                                                               \
    _Pragma("unroll") for (int f = 0; f < BM * A_CHUNKS / ITEMS; ++f) {                           \
      const int row = SLOT(f) % BM, chunk = SLOT(f) / BM, of_k = (tile)*A_CHUNKS + chunk;         \
      const int patch = min(first_patch + row, patches - 1);                                      \
      COPY_16((to) + CHUNK_AT(row, chunk, A_CHUNKS), v + CHUNK_UNDER(patch, of_k) * CHUNK,        \
              of_k < chunks && first_patch + row < patches && IS_PLANE(patch, of_k) ? 16 : 0);    \
    }                                                                                             \
    _Pragma("unroll") for (int f = 0; f < BN * B_CHUNKS / ITEMS; ++f) {                           \
      const int row = SLOT(f) / B_CHUNKS, chunk = SLOT(f) % B_CHUNKS, of_k = (tile)*B_CHUNKS + chunk; \
      COPY_16((to) + A_BYTES + CHUNK_AT(row, chunk, B_CHUNKS),                                    \
              w + (min(first_channel + row, quads * 4 - 1) * chunks + of_k) * CHUNK,              \
              of_k < chunks && first_channel + row < quads * 4 ? 16 : 0);                         \
    }                                                                                             \
  }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void winograd_mma(
    __global const storage_t* restrict v, const int v_offset, __global storage_t* restrict m,
    const int m_offset, __global const float* restrict filter, const int weights, const int chunks,
    const int quads, const int patches SPLIT_PARAMS) {
  __local uchar local_memory[TILE_BYTES] __attribute__((aligned(1024)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first_channel = (get_group_id(0) + get_global_offset(0) / ITEMS) * BN;
  const int first_patch = get_global_id(1) * BM;
  const int place = get_global_id(2) / SPLIT, slice = get_global_id(2) % SPLIT;
  v += ((long)v_offset + (long)place * OF_PLACE) * CHUNK;
  __global const storage_t* w =
      (__global const storage_t*)(filter + weights) + (long)place * chunks * quads * 4 * CHUNK;

  const int tiles = (chunks + A_CHUNKS - 1) / A_CHUNKS;
  WARP_TILES(sum, FIRST_OF_SLICE(slice, tiles), TILES_OF_SLICE(slice, tiles))
  JOIN_SLICES(sum, TILE_OF_GROUP, slice)
  STORE_TILES(sum)
}
