// A product of bits as a convolution of any window, stride, dilation, padding and groups, or of rows
// as pixels of one line. A work-item computes QUADS channel quads of TILE_W neighbouring columns of
// one output row:
//   gws = {output rows * tiles of a row, blocks of 4 * QUADS outputs, batch}
//   x       words of 64 channels [batch][height][width][words]
//   y, bits  results.clh
//   filter  what results are made of, the ones of each tap's weights, and weights (counts.clh):
//           int [blocks][taps][LANES] at places.x, weights [blocks][taps] at places.y ints
// The count of a place and an output is one of ones, or of differing bits (AND), of the taps inside
// the image.
#include "kernels/opencl/binary/results.clh"
#include "kernels/opencl/binary/counts.clh"

// The channels of a word of 64 that a tap outside of the image meets.
static uint2 Outside(const int word, const int channels, const int pad_bit) {
  const int left = pad_bit > 0 ? channels - word * 64 : 0;
  return (uint2)(left >= 32 ? ~0u : (1u << max(left, 0)) - 1,
                 left >= 64 ? ~0u : left > 32 ? (1u << (left - 32)) - 1 : 0u);
}

// in_dims = (words of a pixel, height, width, batch), out_dims = (quads of outputs, height, width,
// batch); window, borders as in conv/direct.cl; groups = (words, channels, outputs) of one, and all
// outputs; padded: outputs of all blocks; bit_blocks: SOME_BITS of a place; pad_bit: taps outside of the image
// add nothing (-1), or meet such bits, which count; packing: sign_bits.clh.
__kernel void binary_product(__global const uint2* restrict x, const int x_offset OUTPUT_PARAMS BIT_PARAMS,
                             __global const int* restrict filter_at, const int filter_offset,
                             const int4 in_dims, const int4 out_dims, const int4 window,
                             const int4 borders, const int4 groups, const int2 places,
                             const int padded, const int bit_blocks, const int pad_bit,
                             const int4 factors, const int4 packing EXPRESSION_PARAMS) {
  const int tiles = (out_dims.z + TILE_W - 1) / TILE_W;
  const int row = (int)get_global_id(0) / tiles;
  const int first_column = (int)get_global_id(0) % tiles * TILE_W;
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (row >= out_dims.y || block * LANES >= padded) return;

  const int outputs = groups.w, taps = window.x * window.y;
  const int first_word = min(block * LANES, outputs - 1) / groups.z * groups.x;
  __global const int* filter = filter_at + filter_offset;
  __global const int* ones = filter + places.x + block * taps * LANES;
  __global const WEIGHT* weights = (__global const WEIGHT*)(filter + places.y);
  weights += block * taps * groups.x * WORD_WEIGHTS;

  DECLARE_COUNTS
  int x_ones[TILE_W], pairs[TILE_W];
  SUMS w_ones[TILE_W];
  for (int t = 0; t < TILE_W; ++t) {
    x_ones[t] = pairs[t] = 0;
    w_ones[t] = (SUMS)(0);
  }
  for (int i = 0; i < window.x; ++i) {
    const int in_row = row * window.z - borders.x + i * borders.z;
    const bool is_row = in_row >= 0 && in_row < in_dims.y;
    if (!is_row && pad_bit < 0) {
      weights += window.y * groups.x * WORD_WEIGHTS;
      continue;
    }
    int in_column = first_column * window.w - borders.y;
    for (int j = 0; j < window.y; ++j, in_column += borders.w) {
      int at[TILE_W];  // -1: outside
#pragma unroll
      for (int t = 0; t < TILE_W; ++t) {
        const int column = in_column + t * window.w;
        at[t] = is_row && column >= 0 && column < in_dims.z
                    ? x_offset + ((n * in_dims.y + in_row) * in_dims.z + column) * in_dims.x + first_word
                    : -1;
      }
      for (int word = 0; word < groups.x; ++word) {
        uint low[TILE_W], high[TILE_W];
#pragma unroll
        for (int t = 0; t < TILE_W; ++t) {
          const uint2 v = at[t] >= 0 ? x[at[t] + word] : Outside(word, groups.y, pad_bit);
          low[t] = v.x;
          high[t] = v.y;
          if (X_ONES) x_ones[t] += popcount(v.x) + popcount(v.y);
        }
        ADD_WORD(low)
        ADD_WORD(high)
        END_WORDS
      }
#pragma unroll
      for (int t = 0; t < TILE_W; ++t) {
        if (at[t] >= 0 || pad_bit >= 0) {
          pairs[t] += groups.y;
          if (W_ONES) w_ones[t] += LOAD_SUMS(ones, i * window.y + j);
        } else {
          TAKE_ONES(t, LOAD_SUMS(ones, i * window.y + j))
        }
      }
    }
  }

  for (int t = 0; t < TILE_W; ++t) {
    const int column = first_column + t;
    if (column >= out_dims.z) continue;
    DECLARE_BITS
#if RESULT == 1
    __global const double* numbers = (__global const double*)filter + block * LANES;
    STORE_RESULTS(TO_CHANNELS(TO_DOUBLES(COUNTS_OF(t)) * LOAD_DOUBLES(numbers, 0) +
                              (double)x_ones[t] * LOAD_DOUBLES(numbers + padded, 0) +
                              TO_DOUBLES(w_ones[t]) * LOAD_DOUBLES(numbers + 2 * padded, 0) +
                              (double)pairs[t] * LOAD_DOUBLES(numbers + 3 * padded, 0) +
                              LOAD_DOUBLES(numbers + 4 * padded, 0)))
#else
    const SUMS s = factors.x * COUNTS_OF(t) + (SUMS)(factors.y * x_ones[t] + factors.w * pairs[t]) +
                   factors.z * w_ones[t];
    STORE_INTEGERS(s)
#endif
    STORE_BITS
  }
}
