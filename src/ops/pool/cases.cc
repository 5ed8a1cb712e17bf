#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> PoolCases() {
  static constexpr Case kCases[] = {
      {"pool.max_3x3_stride_2",
       "input %x: f32[1x17x13x11]\n"
       "%y = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}\noutput %y\n"},
      {"pool.max_2x2_stride_2",
       "input %x: f32[2x8x8x10]\n"
       "%y = MaxPool(%x) {kernel_shape=[2,2], strides=[2,2]}\noutput %y\n"},
      {"pool.max_3x3_whole_vectors",
       "input %x: f32[2x32x9x12]\n%y = MaxPool(%x) {dilations=[2,2], kernel_shape=[3,3], "
       "pads=[1,1,1,2], strides=[1,2]}\noutput %y\n"},
      {"pool.max_2x2_whole_vectors",
       "input %x: f32[1x48x7x11]\n"
       "%y = MaxPool(%x) {kernel_shape=[2,2], pads=[0,1,1,0], strides=[2,3]}\noutput %y\n"},
      {"pool.max_wider_than_the_image",
       "input %x: f32[1x16x4x1]\n"
       "%y = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1]}\noutput %y\n"},
      {"pool.max_3x3_same_size",
       "input %x: f32[2x3x21x50]\n"
       "%y = MaxPool(%x) {kernel_shape=[3,3], pads=[1,2,1,0]}\noutput %y\n"},
      {"pool.max_5x5_same_size",
       "input %x: f32[1x9x7x7]\n"
       "%y = MaxPool(%x) {kernel_shape=[5,5], pads=[2,2,2,2]}\noutput %y\n"},
      {"pool.max_ceil_mode",
       "input %x: f32[1x5x9x12]\n"
       "%y = MaxPool(%x) {ceil_mode=1, kernel_shape=[3,3], strides=[2,2]}\noutput %y\n"},
      {"pool.max_dilated",
       "input %x: f32[1x3x9x9]\n"
       "%y = MaxPool(%x) {dilations=[2,3], kernel_shape=[3,2]}\noutput %y\n"},
      {"pool.max_indices",
       "input %x: f32[2x3x7x9]\n"
       "%y, %i = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}\n"
       "output %y\noutput %i\n"},
      {"pool.max_indices_column_major",
       "input %x: f32[2x3x7x9]\n"
       "%y, %i = MaxPool(%x) {kernel_shape=[2,2], storage_order=1, strides=[2,2]}\n"
       "output %y\noutput %i\n"},
      {"pool.max_indices_1d_of_nan",
       "input %x: f32[2x3x23]\n%s = Sqrt(%x)\n"
       "%y, %i = MaxPool(%s) {ceil_mode=1, dilations=[2], kernel_shape=[4], pads=[2,3], "
       "strides=[3]}\noutput %y\noutput %i\n"},
      {"pool.max_indices_3d_ties",
       "input %x: f16[1x2x5x6x7] = noise(-2, 2)\n%s = Round(%x)\n"
       "%y, %i = MaxPool(%s) {kernel_shape=[2,3,2], pads=[1,1,0,0,1,1], storage_order=1}\n"
       "output %y\noutput %i\n"},
      {"pool.max_u8",
       "input %x: u8[1x5x9x9] = noise(0, 255)\n"
       "%y = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1]}\noutput %y\n"},
      {"pool.max_i8",
       "input %x: i8[1x5x9x9] = noise(-128, 127)\n"
       "%y = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1]}\noutput %y\n"},
      {"pool.max_1d",
       "input %x: f32[1x3x23]\n"
       "%y = MaxPool(%x) {kernel_shape=[4], strides=[3]}\noutput %y\n"},
      {"pool.average_5_taps_3_apart",
       "input %x: f32[2x3x7x121]\n"
       "%y = AveragePool(%x) {kernel_shape=[3,5], pads=[1,2,1,2], strides=[3,3]}\noutput %y\n"},
      {"pool.max_3_taps_3_apart",
       "input %x: f32[1x2x9x23]\n"
       "%y = MaxPool(%x) {kernel_shape=[2,3], pads=[0,1,0,1], strides=[1,3]}\noutput %y\n"},
      {"pool.max_3d",
       "input %x: f32[1x3x5x6x7]\n"
       "%y = MaxPool(%x) {kernel_shape=[2,3,2], strides=[1,2,2]}\noutput %y\n"},
      {"pool.max_f16",
       "input %x: f16[1x8x9x9]\n"
       "%y = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2]}\noutput %y\n"},
      {"pool.max_narrow_pairs",
       "input %x: f32[1x2x9x75]\n"
       "%y = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}\noutput %y\n"},
      {"pool.average_narrow_pairs",
       "input %x: f32[1x1x6x70]\n"
       "%y = AveragePool(%x) {kernel_shape=[2,2], strides=[2,2]}\noutput %y\n"},
      {"pool.average_narrow_row_of_pairs",
       "input %x: f32[1x3x1x77]\n"
       "%y = AveragePool(%x) {kernel_shape=[1,4], pads=[0,1,0,2], strides=[1,2]}\noutput %y\n"},
      {"pool.max_narrow_every_other",
       "input %x: i8[1x2x5x90] = noise(-128, 127)\n"
       "%y = MaxPool(%x) {kernel_shape=[2,1], strides=[1,2]}\noutput %y\n"},
      {"pool.average_narrow_many_rows",
       "input %x: f32[1x1x9x11x37]\n"
       "%y = AveragePool(%x) {kernel_shape=[5,7,3], pads=[2,3,1,2,3,1]}\noutput %y\n"},
      {"pool.max_one_pixel",
       "input %x: f32[1x1x1x1]\n%y = MaxPool(%x) {kernel_shape=[1,1]}\noutput %y\n"},
      {"pool.average_3x3",
       "input %x: f32[1x17x13x11]\n"
       "%y = AveragePool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}\noutput %y\n"},
      {"pool.average_count_include_pad",
       "input %x: f32[1x5x7x7]\n"
       "%y = AveragePool(%x) {count_include_pad=1, kernel_shape=[3,3], pads=[1,1,1,1]}\n"
       "output %y\n"},
      {"pool.average_ceil_include_pad",
       "input %x: f32[1x5x8x9]\n"
       "%y = AveragePool(%x) {ceil_mode=1, count_include_pad=1, kernel_shape=[3,3], "
       "pads=[1,1,1,1], strides=[2,2]}\noutput %y\n"},
      {"pool.average_ceil_drops_window_in_padding",
       "input %x: f32[1x1x2x2]\n"
       "%y = AveragePool(%x) {ceil_mode=1, kernel_shape=[1,1], pads=[0,0,0,0], strides=[3,3]}\n"
       "output %y\n"},
      {"pool.average_dilated",
       "input %x: f32[1x3x9x9]\n"
       "%y = AveragePool(%x) {dilations=[2,2], kernel_shape=[3,3], pads=[1,0,2,1]}\n"
       "output %y\n"},
      {"pool.average_windows_of_padding",
       "input %x: f32[1x5x3x9]\n"
       "%y = AveragePool(%x) {dilations=[4,3], kernel_shape=[2,3], pads=[2,3,2,3]}\n"
       "output %y\n"},
      {"pool.average_windows_of_padding_wide",
       "input %x: f32[1x64x3x9]\n"
       "%y = AveragePool(%x) {dilations=[4,3], kernel_shape=[2,3], pads=[2,3,2,3]}\n"
       "output %y\n"},
      {"pool.average_windows_of_padding_3d",
       "input %x: f32[1x5x3x1x4]\n"
       "%y = AveragePool(%x) {dilations=[4,2,2], kernel_shape=[2,2,2], pads=[2,1,1,2,1,1]}\n"
       "output %y\n"},
      {"pool.max_windows_of_padding",
       "input %x: f32[1x5x3x9]\n"
       "%m = MaxPool(%x) {dilations=[4,3], kernel_shape=[2,3], pads=[2,3,2,3]}\n%y = Relu(%m)\n"
       "output %y\n"},
      {"pool.max_windows_of_padding_wide",
       "input %x: f32[1x64x3x9]\n"
       "%m = MaxPool(%x) {dilations=[4,3], kernel_shape=[2,3], pads=[2,3,2,3]}\n%y = Relu(%m)\n"
       "output %y\n"},
      {"pool.average_same_lower",
       "input %x: f32[1x3x8x7]\n"
       "%y = AveragePool(%x) {auto_pad=\"SAME_LOWER\", kernel_shape=[2,3], strides=[1,2]}\n"
       "output %y\n"},
      {"pool.max_same_upper",
       "input %x: f32[2x9x8x7]\n"
       "%y = MaxPool(%x) {auto_pad=\"SAME_UPPER\", kernel_shape=[3,3], strides=[2,2]}\n"
       "output %y\n"},
      {"pool.lp_3x3",
       "input %x: f32[1x3x8x7]\n"
       "%y = LpPool(%x) {kernel_shape=[3,3], p=3, strides=[2,2]}\noutput %y\n"},
      {"pool.global_average_7x7",
       "input %x: f32[2x37x7x7]\n%y = GlobalAveragePool(%x)\noutput %y\n"},
      {"pool.global_average_1x1",
       "input %x: f32[1x5x1x1]\n%y = GlobalAveragePool(%x)\noutput %y\n"},
      {"pool.global_average_1d", "input %x: f32[1x5x101]\n%y = GlobalAveragePool(%x)\noutput %y\n"},
      {"pool.global_max", "input %x: f32[1x19x5x9]\n%y = GlobalMaxPool(%x)\noutput %y\n"},
      {"pool.global_max_of_nothing", "input %x: f32[2x3x0x4]\n%y = GlobalMaxPool(%x)\noutput %y\n"},
      {"pool.global_average_of_nothing",
       "input %x: f32[2x3x0x4]\n%y = GlobalAveragePool(%x)\noutput %y\n"},
      {"pool.global_lp", "input %x: f32[1x5x5x9]\n%y = GlobalLpPool(%x) {p=2}\noutput %y\n"},
      {"pool.max_unpool",
       "input %x: f32[1x1x2x2]\nconst %i: i64[1x1x2x2] = 0 3 9 14\n"
       "%y = MaxUnpool(%x, %i) {kernel_shape=[2,2], strides=[2,2]}\noutput %y\n"},
      {"pool.max_unpool_half_1d",
       "input %x: f16[1x2x3]\n"
       "const %i: i64[1x2x3] = 1 2 1 11 8 6\n"
       "%y = MaxUnpool(%x, %i) {kernel_shape=[2], strides=[2]}\n"
       "output %y\n"},
      {"pool.max_unpool_larger",
       "input %x: f32[2x1x2x2]\n"
       "const %i: i64[2x1x2x2] = 0 3 9 14 17 20 27 31\n"
       "const %s: i64[4] = 2 1 5 6\n"
       "%y = MaxUnpool(%x, %i, %s) {kernel_shape=[2,2], strides=[2,2]}\n"
       "output %y\n"},
      {"pool.max_roi",
       "input %x: f32[2x3x9x9]\nconst %r: f32[2x5] = 0 1 1 6 7 1 0 2 16 12\n"
       "%y = MaxRoiPool(%x, %r) {pooled_shape=[2,3], spatial_scale=0.5}\noutput %y\n"},
      {"pool.roi_align",
       "input %x: f32[2x3x9x9]\nconst %r: f32[2x4] = 1 1 6.5 7.25 0 2 16 12\n"
       "const %i: i64[2] = 1 0\n"
       "%y = RoiAlign(%x, %r, %i) {output_height=3, output_width=2, sampling_ratio=2, "
       "spatial_scale=0.5}\noutput %y\n"},
      {"pool.roi_align_samples",
       "input %x: f32[3x37x12x9]\ninput %r: f32[9x4] = noise(-30, 60)\n"
       "input %i: i64[9] = noise(0, 2)\n"
       "%y = RoiAlign(%x, %r, %i) {coordinate_transformation_mode=\"output_half_pixel\", "
       "output_height=7, output_width=5, sampling_ratio=3, spatial_scale=0.25}\noutput %y\n"},
      {"pool.max_roi_half",
       "input %x: f16[3x19x7x11]\ninput %n: f16[4x5] = noise(0, 2.5)\n"
       "const %s: f16[5] = 1 5 3 9 9\n%a = Abs(%n)\n%r = Mul(%a, %s)\n"
       "%y = MaxRoiPool(%x, %r) {pooled_shape=[3,1]}\noutput %y\n"},
      {"pool.roi_align_no_rows",
       "input %x: f32[1x2x0x7]\nconst %r: f32[2x4] = 0.8 0.1 0.9 4.2 3.4 0.2 5.1 0.4\n"
       "const %b: i64[2] = 0 0\n%y = RoiAlign(%x, %r, %b) {output_height=3, output_width=1, "
       "spatial_scale=0.5}\noutput %y\n"},
      {"pool.roi_align_outside",
       "input %x: f32[2x37x5x8]\ninput %r: f32[9x4] = noise(-30, 60)\n"
       "input %i: i32[9] = noise(0, 1)\n"
       "%y = RoiAlign(%x, %r, %i) {output_height=2, output_width=3, spatial_scale=0.25}\n"
       "output %y\n"},
      {"pool.roi_align_half_one_channel",
       "input %x: f16[1x1x6x1]\ninput %r: f16[5x4] = noise(0, 12)\nconst %i: i64[5] = 0 0 0 0 0\n"
       "%y = RoiAlign(%x, %r, %i) {coordinate_transformation_mode=\"output_half_pixel\", "
       "output_height=1, output_width=4, sampling_ratio=3, spatial_scale=0.5}\noutput %y\n"},
      {"pool.roi_align_max_outside",
       "input %x: f32[1x5x4x6]\ninput %r: f32[7x4] = noise(-9, 15)\nconst %i: i64[7] = 0 0 0 0 0 0 "
       "0\n"
       "%y = RoiAlign(%x, %r, %i) {mode=\"max\", output_height=3, output_width=2, "
       "sampling_ratio=2}\noutput %y\n"},
      {"pool.roi_align_no_regions",
       "input %x: f32[1x5x4x6]\ninput %r: f32[0x4]\ninput %i: i64[0]\n"
       "%y = RoiAlign(%x, %r, %i) {output_height=3, output_width=2}\noutput %y\n"},
      {"pool.roi_align_max_adaptive",
       "input %x: f32[2x3x9x9]\nconst %r: f32[1x4] = 1 1 6.5 7.25\nconst %i: i64[1] = 1\n"
       "%y = RoiAlign(%x, %r, %i) {coordinate_transformation_mode=\"output_half_pixel\", "
       "mode=\"max\", output_height=2, output_width=2}\noutput %y\n"},
      {"pool.max_3x3_stride_2_bench",
       "input %x: f32[1x64x112x112]\n"
       "%y = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}\noutput %y\n",
       true},
      {"pool.average_3x3_bench",
       "input %x: f32[1x192x35x35]\n"
       "%y = AveragePool(%x) {count_include_pad=1, kernel_shape=[3,3], pads=[1,1,1,1]}\n"
       "output %y\n",
       true},
      {"pool.global_average_bench",
       "input %x: f32[1x1280x7x7]\n%y = GlobalAveragePool(%x)\noutput %y\n", true},
  };
  return kCases;
}

}  // namespace fettle::ops
