// Moves elements to or from images in one launch: a work-item makes one output, finds the piece of
// the move that each of its elements belongs to, and reads the element that the piece names. What
// belongs to none is zero.
//   pixels     y in NC4HW4 (access.clh), an item a pixel: gws = {height * width, channel blocks,
//              batch}; extents = (channel blocks, height, width, batch)
//   OUT_ROWS   1: y is a row-major buffer, an item an element: gws = {elements}; extents.x elements
//   pieces     of PIECE_INTS ints: source, whole, destination's first element, source's first
//              element, the source's channels, height and width, number of axes; then (extent,
//              destination's step, source's step) of each axis by falling destination's step.
//              Elements are counted row-major on both sides. whole: each pixel of the piece is one
//              pixel of the source.
// In front of this text: SOURCE_PARAMS and SOURCE_ARGS, the sources as parameters and as arguments;
// READ_SOURCES, a READ_PIXELS or READ_ROWS of each by its number.
#include "kernels/opencl/access.clh"

#ifndef OUT_ROWS
#define OUT_ROWS 0
#endif
#ifndef PIECE_INTS
#define PIECE_INTS 32
#endif
#define ROWS_IN(x) __global const storage_t* restrict x, const int x##_offset
#ifndef SOURCE_PARAMS
#define SOURCE_PARAMS , TENSOR_IN(x0)
#define SOURCE_ARGS , x0, x0_offset
#define READ_SOURCES READ_PIXELS(0, x0)
#endif

#define READ_PIXELS(number, x) \
  if (piece[0] == number) return LOAD4(x, dims, n, channel / 4, row, column);
#define READ_ROWS(number, x) \
  if (piece[0] == number) return (float4)(LOAD(x, x##_offset + from));

// Where element `e` of the output comes from: an element of the piece's source, or -1.
static int FindSource(__global const int* restrict piece, const int e) {
  int rest = e - piece[2], from = piece[3];
  if (rest < 0) return -1;
  __global const int* axis = piece + 8;
  for (int a = 0; a < piece[7]; ++a, axis += 3) {
    const int i = rest / axis[1];
    if (i >= axis[0]) return -1;
    rest -= i * axis[1];
    from += i * axis[2];
  }
  return rest == 0 ? from : -1;
}

static int ChannelOf(__global const int* restrict piece, const int from) {
  return from / (piece[5] * piece[6]) % piece[4];
}

// The pixel that holds element `from` of a source; of a row-major one that element four times.
static float4 ReadSource(__global const int* restrict piece, const int from SOURCE_PARAMS) {
  const int column = from % piece[6], row = from / piece[6] % piece[5];
  const int channel = ChannelOf(piece, from), n = from / (piece[4] * piece[5] * piece[6]);
  const int4 dims = (int4)((piece[4] + 3) / 4, piece[5], piece[6], n + 1);
  READ_SOURCES
  return (float4)(0.0f);
}

static float LaneOf(const float4 pixel, const int lane) {
  return lane == 0 ? pixel.x : lane == 1 ? pixel.y : lane == 2 ? pixel.z : pixel.w;
}

#if OUT_ROWS
__kernel void gather(__global storage_t* restrict y, const int y_offset, const int4 extents,
                     const int channels, __global const int* restrict pieces,
                     const int count SOURCE_PARAMS) {
  const int e = get_global_id(0);
  if (e >= extents.x) return;
  float v = 0.0f;
  for (int p = 0; p < count; ++p) {
    __global const int* piece = pieces + p * PIECE_INTS;
    const int from = FindSource(piece, e);
    if (from < 0) continue;
    v = LaneOf(ReadSource(piece, from SOURCE_ARGS), ChannelOf(piece, from) % 4);
    break;
  }
  STORE(v, y + y_offset, e);
}
#else
__kernel void gather(TENSOR_OUT(y), const int4 extents, const int channels,
                     __global const int* restrict pieces, const int count SOURCE_PARAMS) {
  const int place = get_global_id(0);
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  const int plane = extents.y * extents.z;
  if (place >= plane || block >= extents.x) return;
  const int first = (n * channels + block * 4) * plane + place;
  const int lanes = min(channels - block * 4, 4);
  float v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  bool is_whole = false;
  for (int lane = 0; lane < lanes && !is_whole; ++lane) {
    for (int p = 0; p < count; ++p) {
      __global const int* piece = pieces + p * PIECE_INTS;
      const int from = FindSource(piece, first + lane * plane);
      if (from < 0) continue;
      const float4 pixel = ReadSource(piece, from SOURCE_ARGS);
      v[lane] = LaneOf(pixel, ChannelOf(piece, from) % 4);
      is_whole = piece[1] != 0;
      if (is_whole)
        for (int other = 1; other < lanes; ++other) v[other] = LaneOf(pixel, other);
      break;
    }
  }
  const float4 result = (float4)(v[0], v[1], v[2], v[3]);
  STORE4(result, y, extents, n, block, place / extents.z, place % extents.z);
}
#endif
