#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> PadCases() {
  static constexpr Case kCases[] = {
      {"pad.constant_hw",
       "input %x: f32[1x3x5x7]\nconst %p: i64[8] = 0 0 1 2 0 0 3 1\n"
       "%y = Pad(%x, %p)\noutput %y\n"},
      {"pad.constant_value",
       "input %x: f32[2x5]\nconst %p: i64[4] = 1 0 0 2\nconst %v: f32[] = 1.5\n"
       "%y = Pad(%x, %p, %v) {mode=\"constant\"}\noutput %y\n"},
      {"pad.picture_with_value",
       "input %x: f32[1x5x3x4]\nconst %p: i64[8] = 0 1 1 0 0 2 0 2\nconst %v: f32[] = 1.5\n"
       "%y = Pad(%x, %p, %v)\noutput %y\n"},
      {"pad.channels",
       "input %x: f32[1x3x4x5]\nconst %p: i64[8] = 0 1 0 0 0 4 0 0\n"
       "%y = Pad(%x, %p)\noutput %y\n"},
      {"pad.reflect",
       "input %x: f32[1x3x5x7]\nconst %p: i64[8] = 0 0 4 3 0 0 2 6\n"
       "%y = Pad(%x, %p) {mode=\"reflect\"}\noutput %y\n"},
      {"pad.edge",
       "input %x: f32[1x3x5x7]\nconst %p: i64[8] = 0 0 2 3 0 0 1 9\n"
       "%y = Pad(%x, %p) {mode=\"edge\"}\noutput %y\n"},
      {"pad.wrap",
       "input %x: f32[1x3x5x7]\nconst %p: i64[8] = 0 0 2 9 0 0 6 3\n"
       "%y = Pad(%x, %p) {mode=\"wrap\"}\noutput %y\n"},
      {"pad.negative",
       "input %x: f32[1x3x5x7]\nconst %p: i64[8] = 0 0 -1 2 0 0 1 -3\n"
       "%y = Pad(%x, %p)\noutput %y\n"},
      {"pad.negative_reflect",
       "input %x: f32[1x3x5x7]\nconst %p: i64[8] = 0 0 -1 2 0 0 1 -3\n"
       "%y = Pad(%x, %p) {mode=\"reflect\"}\noutput %y\n"},
      {"pad.axes",
       "input %x: f32[2x3x5]\nconst %p: i64[4] = 1 2 0 3\nconst %a: i64[2] = -1 0\n"
       "%y = Pad(%x, %p, _, %a)\noutput %y\n"},
      {"pad.u8",
       "input %x: u8[3x5]\nconst %p: i64[4] = 1 1 1 1\nconst %v: u8[] = 128\n"
       "%y = Pad(%x, %p, %v)\noutput %y\n"},
      {"pad.empty_input",
       "input %x: f32[0x3]\nconst %p: i64[4] = 1 0 1 1\n%y = Pad(%x, %p)\noutput %y\n"},
      {"pad.nothing",
       "input %x: f32[1x1]\nconst %p: i64[4] = 0 0 0 0\n%y = Pad(%x, %p)\noutput %y\n"},
      {"pad.constant_bench",
       "input %x: f32[1x64x112x112]\nconst %p: i64[8] = 0 0 1 1 0 0 1 1\n"
       "%y = Pad(%x, %p)\noutput %y\n",
       true},
      {"pad.reflect_bench",
       "input %x: f32[1x32x128x128]\nconst %p: i64[8] = 0 0 4 4 0 0 4 4\n"
       "%y = Pad(%x, %p) {mode=\"reflect\"}\noutput %y\n",
       true},
  };
  return kCases;
}

}  // namespace fettle::ops
