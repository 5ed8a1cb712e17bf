#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> SliceCases() {
  static constexpr Case kCases[] = {
      {"slice.negative_steps",
       "input %x: f32[7x5]\n"
       "const %s: i64[2] = -1 4\n"
       "const %e: i64[2] = -9 0\n"
       "const %a: i64[2] = 0 -1\n"
       "const %t: i64[2] = -1 -2\n"
       "%y = Slice(%x, %s, %e, %a, %t)\n"
       "output %y\n"},
      {"slice.beyond_the_end",
       "input %x: f32[5x3]\n"
       "const %s: i64[1] = 2\n"
       "const %e: i64[1] = 9223372036854775807\n"
       "%y = Slice(%x, %s, %e)\n"
       "output %y\n"},
      {"slice.huge_steps",
       "input %x: f32[5x3]\n"
       "const %s: i64[2] = 1 2\n"
       "const %e: i64[2] = 9223372036854775807 -9223372036854775808\n"
       "const %a: i64[2] = 0 1\n"
       "const %t: i64[2] = 9223372036854775807 -9223372036854775808\n"
       "%y = Slice(%x, %s, %e, %a, %t)\n"
       "output %y\n"},
      {"slice.empty_result",
       "input %x: f32[5x3]\n"
       "const %s: i64[1] = 3\n"
       "const %e: i64[1] = 3\n"
       "%y = Slice(%x, %s, %e)\n"
       "output %y\n"},
      {"slice.channels_interval",
       "input %x: f32[1x16x6x8]\n"
       "const %s: i64[1] = 4\n"
       "const %e: i64[1] = 12\n"
       "const %a: i64[1] = 1\n"
       "%y = Slice(%x, %s, %e, %a)\n"
       "output %y\n"},
      {"slice.inner_window_u8",
       "input %x: u8[2x3x9x11]\n"
       "const %s: i32[2] = 1 2\n"
       "const %e: i32[2] = -1 -3\n"
       "const %a: i32[2] = 2 3\n"
       "%y = Slice(%x, %s, %e, %a)\n"
       "output %y\n"},
      {"slice.focus",
       "input %x: f32[1x3x10x12]\n"
       "const %s: i64[2] = 1 0\n"
       "const %e: i64[2] = 10 12\n"
       "const %a: i64[2] = 2 3\n"
       "const %t: i64[2] = 2 2\n"
       "%y = Slice(%x, %s, %e, %a, %t)\n"
       "output %y\n"},
      {"slice.focus_image",
       "input %x: f32[1x3x640x640]\n"
       "const %s: i64[2] = 0 1\n"
       "const %e: i64[2] = 640 640\n"
       "const %a: i64[2] = 2 3\n"
       "const %t: i64[2] = 2 2\n"
       "%y = Slice(%x, %s, %e, %a, %t)\n"
       "output %y\n",
       true},
      {"slice.crop_image",
       "input %x: f32[1x32x130x130]\n"
       "const %s: i64[2] = 1 1\n"
       "const %e: i64[2] = 129 129\n"
       "const %a: i64[2] = 2 3\n"
       "%y = Slice(%x, %s, %e, %a)\n"
       "output %y\n",
       true},
  };
  return kCases;
}

}  // namespace fettle::ops
