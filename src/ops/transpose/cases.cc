#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> TransposeCases() {
  static constexpr Case kCases[] = {
      {"transpose.default_reverses",
       "input %x: f32[2x3x5]\n"
       "%y = Transpose(%x)\n"
       "output %y\n"},
      {"transpose.scalar",
       "input %x: f32[]\n"
       "%y = Transpose(%x)\n"
       "output %y\n"},
      {"transpose.empty",
       "input %x: f32[2x0x5]\n"
       "%y = Transpose(%x) {perm=[2,0,1]}\n"
       "output %y\n"},
      {"transpose.unit_axes_only",
       "input %x: f32[1x7x1x5]\n"
       "%y = Transpose(%x) {perm=[1,0,2,3]}\n"
       "output %y\n"},
      {"transpose.nchw_to_nhwc",
       "input %x: f32[2x13x7x11]\n"
       "%y = Transpose(%x) {perm=[0,2,3,1]}\n"
       "output %y\n"},
      {"transpose.nhwc_to_nchw",
       "input %x: f32[2x7x11x13]\n"
       "%y = Transpose(%x) {perm=[0,3,1,2]}\n"
       "output %y\n"},
      {"transpose.attention_heads",
       "input %x: f32[1x17x4x8]\n"
       "%y = Transpose(%x) {perm=[0,2,1,3]}\n"
       "output %y\n"},
      {"transpose.rank6_u8",
       "input %x: u8[2x3x2x5x2x7]\n"
       "%y = Transpose(%x) {perm=[0,3,1,5,2,4]}\n"
       "output %y\n"},
      {"transpose.matrix_f16",
       "input %x: f16[67x131]\n"
       "%y = Transpose(%x) {perm=[1,0]}\n"
       "output %y\n"},
      {"transpose.matrix_i64",
       "input %x: i64[37x41]\n"
       "%y = Transpose(%x) {perm=[1,0]}\n"
       "output %y\n"},
      {"transpose.matrix",
       "input %x: f32[1024x1024]\n"
       "%y = Transpose(%x) {perm=[1,0]}\n"
       "output %y\n",
       true},
      {"transpose.image_to_channels_last",
       "input %x: f32[1x64x128x128]\n"
       "%y = Transpose(%x) {perm=[0,2,3,1]}\n"
       "output %y\n",
       true},
      {"transpose.pixel_shuffle",
       "input %x: f32[1x3x4x4x64x64]\n"
       "%y = Transpose(%x) {perm=[0,1,4,2,5,3]}\n"
       "output %y\n",
       true},
  };
  return kCases;
}

}  // namespace fettle::ops
