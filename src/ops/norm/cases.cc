#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> NormCases() {
  static constexpr Case kCases[] = {
      {"norm.batch",
       "input %x: f32[2x5x3x7]\nconst %s: f32[5]\nconst %b: f32[5]\nconst %m: f32[5]\n"
       "const %v: f32[5] = noise(0.5, 2)\n%y = BatchNormalization(%x, %s, %b, %m, %v)\n"
       "output %y\n"},
      {"norm.batch_bench",
       "input %x: f32[1x64x112x112]\nconst %s: f32[64]\nconst %b: f32[64]\nconst %m: f32[64]\n"
       "const %v: f32[64] = noise(0.5, 2)\n%y = BatchNormalization(%x, %s, %b, %m, %v)\n"
       "output %y\n",
       true},
      {"norm.batch_of_computed_statistics",
       "input %x: f32[1x39x6x5]\nconst %s: f32[39]\nconst %b: f32[39]\ninput %m: f32[39]\n"
       "input %v: f32[39] = noise(0.5, 2)\n%y = BatchNormalization(%x, %s, %b, %m, %v)\n"
       "output %y\n"},
      {"norm.batch_rank_2",
       "input %x: f32[3x5]\nconst %s: f32[5]\nconst %b: f32[5]\nconst %m: f32[5]\n"
       "const %v: f32[5] = noise(0.5, 2)\n"
       "%y = BatchNormalization(%x, %s, %b, %m, %v) {epsilon=0.01}\noutput %y\n"},
      {"norm.batch_training",
       "input %x: f32[2x5x3x7]\nconst %s: f32[5]\nconst %b: f32[5]\nconst %m: f32[5]\n"
       "const %v: f32[5] = noise(0.5, 2)\n"
       "%y, %mean, %var = BatchNormalizationTraining(%x, %s, %b, %m, %v) {momentum=0.9}\n"
       "output %y\noutput %mean\noutput %var\n"},
      {"norm.group",
       "input %x: f32[2x6x3x5]\nconst %s: f32[6]\nconst %b: f32[6]\n"
       "%y = GroupNormalization(%x, %s, %b) {num_groups=3}\noutput %y\n"},
      {"norm.group_bench",
       "input %x: f32[1x320x64x64]\nconst %s: f32[320]\nconst %b: f32[320]\n"
       "%y = GroupNormalization(%x, %s, %b) {num_groups=32}\noutput %y\n",
       true},
      {"norm.instance",
       "input %x: f32[2x5x7x3]\nconst %s: f32[5]\nconst %b: f32[5]\n"
       "%y = InstanceNormalization(%x, %s, %b)\noutput %y\n"},
      {"norm.instance_bench",
       "input %x: f32[1x128x112x112]\nconst %s: f32[128]\nconst %b: f32[128]\n"
       "%y = InstanceNormalization(%x, %s, %b)\noutput %y\n",
       true},
      {"norm.instance_halves",
       "input %x: f16[2x3x5x7x4]\nconst %s: f16[3]\nconst %b: f16[3]\n"
       "%y = InstanceNormalization(%x, %s, %b)\noutput %y\n"},
      {"norm.layer",
       "input %x: f32[3x5x37]\nconst %s: f32[37]\nconst %b: f32[37]\n"
       "%y = LayerNormalization(%x, %s, %b)\noutput %y\n"},
      {"norm.layer_all_axes",
       "input %x: f32[2x9x7x3]\nconst %s: f32[1x1x1x3]\nconst %b: f32[3]\n"
       "%y = LayerNormalization(%x, %s, %b) {axis=-4}\noutput %y\n"},
      {"norm.layer_bench",
       "input %x: f32[1x197x768]\nconst %s: f32[768]\nconst %b: f32[768]\n"
       "%y = LayerNormalization(%x, %s, %b)\noutput %y\n",
       true},
      {"norm.layer_empty",
       "input %x: f32[0x5]\nconst %s: f32[5]\n%y = LayerNormalization(%x, %s)\noutput %y\n"},
      {"norm.layer_f16",
       "input %x: f16[3x37]\nconst %s: f16[37]\n%y = LayerNormalization(%x, %s)\noutput %y\n"},
      {"norm.layer_of_many_short_rows",
       "input %x: f32[3x17x9]\nconst %s: f32[9] = noise(0.5, 1.5)\nconst %b: f32[9]\n"
       "%y = LayerNormalization(%x, %s, %b)\noutput %y\n"},
      {"norm.layer_one",
       "input %x: f32[3x1]\nconst %s: f32[1]\n%y = LayerNormalization(%x, %s)\noutput %y\n"},
      {"norm.layer_statistics",
       "input %x: f32[3x5x7]\nconst %s: f32[5x7]\nconst %b: f32[5x7]\n"
       "%y, %mean, %inv = LayerNormalization(%x, %s, %b) {axis=1}\n"
       "output %y\noutput %mean\noutput %inv\n"},
      {"norm.lp_1", "input %x: f32[3x5x7]\n%y = LpNormalization(%x) {axis=1, p=1}\noutput %y\n"},
      {"norm.lp_1_rows",
       "input %x: f32[3x531]\n"
       "%y = LpNormalization(%x) {p=1}\n"
       "output %y\n"},
      {"norm.lp_2_columns",
       "input %x: f32[2x9x300]\n"
       "%y = LpNormalization(%x) {axis=-2}\n"
       "output %y\n"},
      {"norm.lp_zeros",
       "input %x: f32[2x5] = noise(0, 0)\n"
       "%y = LpNormalization(%x)\n"
       "output %y\n"},
      {"norm.lp_half",
       "input %x: f16[3x7x1]\n"
       "%y = LpNormalization(%x) {axis=0}\n"
       "output %y\n"},
      {"norm.lp_2", "input %x: f32[3x37]\n%y = LpNormalization(%x)\noutput %y\n"},
      {"norm.lrn",
       "input %x: f32[2x13x3x5]\n%y = LRN(%x) {alpha=0.0002, beta=0.5, bias=2.0, size=3}\n"
       "output %y\n"},
      {"norm.lrn_bench", "input %x: f32[1x96x54x54]\n%y = LRN(%x) {size=5}\noutput %y\n", true},
      {"norm.lrn_even_window", "input %x: f32[1x5x3x3]\n%y = LRN(%x) {size=4}\noutput %y\n"},
      {"norm.layer_of_nothing",
       "input %x: f32[5x0]\nconst %s: f32[5x0]\n%y, %m, %d = LayerNormalization(%x, %s) {axis=0}\n"
       "output %y\noutput %m\noutput %d\n"},
      {"norm.rms",
       "input %x: f32[3x5x37]\nconst %s: f32[37]\n%y = RMSNormalization(%x, %s)\noutput %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
