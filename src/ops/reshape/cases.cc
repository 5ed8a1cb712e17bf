#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> ReshapeCases() {
  static constexpr Case kCases[] = {
      {"reshape.minus_one",
       "input %x: f32[2x3x5x7]\n"
       "const %s: i64[3] = 0 -1 7\n"
       "%y = Reshape(%x, %s)\n"
       "output %y\n"},
      {"reshape.to_scalar",
       "input %x: f32[1x1]\n"
       "const %s: i64[0] =\n"
       "%y = Reshape(%x, %s)\n"
       "output %y\n"},
      {"reshape.allow_zero_empty",
       "input %x: f32[0x4]\n"
       "const %s: i64[3] = 3 0 5\n"
       "%y = Reshape(%x, %s) {allowzero=1}\n"
       "output %y\n"},
      {"reshape.copied_zero_beside_minus_one",
       "input %x: f32[0x6]\n"
       "const %s: i64[3] = 0 2 -1\n"
       "%y = Reshape(%x, %s)\n"
       "output %y\n"},
      {"reshape.image_to_tokens_u8",
       "input %x: u8[2x8x4x4]\n"
       "const %s: i64[3] = 2 8 16\n"
       "%y = Reshape(%x, %s)\n"
       "output %y\n"},
      {"reshape.flatten_negative_axis",
       "input %x: i64[2x3x5]\n"
       "%y = Flatten(%x) {axis=-1}\n"
       "output %y\n"},
      {"reshape.flatten_axis_rank",
       "input %x: f16[2x3x5]\n"
       "%y = Flatten(%x) {axis=3}\n"
       "output %y\n"},
      {"reshape.squeeze_all",
       "input %x: f32[1x3x1x5]\n"
       "%y = Squeeze(%x)\n"
       "output %y\n"},
      {"reshape.squeeze_negative_axis",
       "input %x: f32[1x3x1x5]\n"
       "const %a: i64[1] = -2\n"
       "%y = Squeeze(%x, %a)\n"
       "output %y\n"},
      {"reshape.unsqueeze_unsorted_axes",
       "input %x: f32[3x5]\n"
       "const %a: i64[3] = -1 0 2\n"
       "%y = Unsqueeze(%x, %a)\n"
       "output %y\n"},
      {"reshape.identity_bool",
       "input %x: bool[3x5x7]\n"
       "%y = Identity(%x)\n"
       "output %y\n"},
      {"reshape.shape_clamped_range",
       "input %x: f32[2x3x5x7]\n"
       "%y = Shape(%x) {start=-9, end=-1}\n"
       "output %y\n"},
      {"reshape.shape_empty_range",
       "input %x: f32[2x3]\n"
       "%y = Shape(%x) {start=1, end=0}\n"
       "output %y\n"},
      {"reshape.size",
       "input %x: f32[2x3x5x7]\n"
       "%y = Size(%x)\n"
       "output %y\n"},
      {"reshape.expand_both_ways",
       "input %x: f32[3x1x7]\n"
       "const %s: i64[4] = 2 1 5 1\n"
       "%y = Expand(%x, %s)\n"
       "output %y\n"},
      {"reshape.expand_empty",
       "input %x: f32[3x1]\n"
       "const %s: i64[2] = 3 0\n"
       "%y = Expand(%x, %s)\n"
       "output %y\n"},
      {"reshape.expand_inner",
       "input %x: f32[1x64x1x1]\n"
       "const %s: i64[4] = 1 64 56 56\n"
       "%y = Expand(%x, %s)\n"
       "output %y\n",
       true},
      {"reshape.tile_prime",
       "input %x: f16[3x5x7]\n"
       "const %r: i64[3] = 2 1 3\n"
       "%y = Tile(%x, %r)\n"
       "output %y\n"},
      {"reshape.tile_zero",
       "input %x: f32[3x5]\n"
       "const %r: i64[2] = 1 0\n"
       "%y = Tile(%x, %r)\n"
       "output %y\n"},
      {"reshape.tile_image",
       "input %x: f32[1x16x32x32]\n"
       "const %r: i64[4] = 1 2 3 4\n"
       "%y = Tile(%x, %r)\n"
       "output %y\n",
       true},
  };
  return kCases;
}

}  // namespace fettle::ops
