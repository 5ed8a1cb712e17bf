#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> ResizeCases() {
  static constexpr Case kCases[] = {
      {"resize.nearest_x2_asymmetric",
       "input %x: f32[1x5x7x9]\nconst %s: f32[4] = 1 1 2 2\n"
       "%y = Resize(%x, _, %s) {coordinate_transformation_mode=\"asymmetric\", mode=\"nearest\", "
       "nearest_mode=\"floor\"}\noutput %y\n"},
      {"resize.nearest_half",
       "input %x: f32[2x3x10x37]\nconst %s: i64[4] = 2 3 5 17\n"
       "%y = Resize(%x, _, _, %s) {mode=\"nearest\"}\noutput %y\n"},
      {"resize.nearest_sizes_down",
       "input %x: f32[1x3x11x13]\nconst %s: i64[4] = 1 3 5 4\n"
       "%y = Resize(%x, _, _, %s) {mode=\"nearest\"}\noutput %y\n"},
      {"resize.nearest_simple_down",
       "input %x: f32[1x3x11x13]\nconst %s: f32[4] = 1 1 0.6 0.7\n"
       "%y = Resize(%x, _, %s) {coordinate_transformation_mode=\"asymmetric\", mode=\"nearest\", "
       "nearest_mode=\"simple\"}\noutput %y\n"},
      {"resize.linear_x2_half_pixel",
       "input %x: f32[1x5x7x9]\nconst %s: f32[4] = 1 1 2 2\n"
       "%y = Resize(%x, _, %s) {mode=\"linear\"}\noutput %y\n"},
      {"resize.linear_half_of_wide_rows",
       "input %x: f32[1x2x12x75]\nconst %s: i64[4] = 1 2 6 37\n"
       "%y = Resize(%x, _, _, %s) {mode=\"linear\"}\noutput %y\n"},
      {"resize.linear_align_corners",
       "input %x: f32[2x3x5x7]\nconst %s: i64[4] = 2 3 9 11\n"
       "%y = Resize(%x, _, _, %s) {coordinate_transformation_mode=\"align_corners\", "
       "mode=\"linear\"}\noutput %y\n"},
      {"resize.linear_pytorch_to_one",
       "input %x: f32[1x3x5x7]\nconst %s: i64[4] = 1 3 1 3\n"
       "%y = Resize(%x, _, _, %s) {coordinate_transformation_mode=\"pytorch_half_pixel\", "
       "mode=\"linear\"}\noutput %y\n"},
      {"resize.linear_half_pixel_symmetric",
       "input %x: f32[1x1x5x7]\nconst %s: f32[4] = 1 1 0.7 1.3\n"
       "%y = Resize(%x, _, %s) {coordinate_transformation_mode=\"half_pixel_symmetric\", "
       "mode=\"linear\"}\noutput %y\n"},
      {"resize.linear_3d",
       "input %x: f32[1x2x3x4x5]\nconst %s: f32[5] = 1 1 2 1.5 2\n"
       "%y = Resize(%x, _, %s) {mode=\"linear\"}\noutput %y\n"},
      {"resize.linear_3d_align_corners",
       "input %x: f32[1x1x5x17x19]\nconst %s: i64[5] = 1 1 7 33 23\n"
       "%y = Resize(%x, _, _, %s) {coordinate_transformation_mode=\"align_corners\", "
       "mode=\"linear\"}\noutput %y\n"},
      {"resize.linear_3d_f16",
       "input %x: f16[2x3x4x1x7]\nconst %s: i64[5] = 2 3 3 5 1\n"
       "%y = Resize(%x, _, _, %s) {mode=\"linear\"}\noutput %y\n"},
      {"resize.linear_depth_and_width",
       "input %x: f32[2x3x4x5x6]\nconst %s: f32[5] = 1 1 1.7 1 2.5\n"
       "%y = Resize(%x, _, %s) {mode=\"linear\"}\noutput %y\n"},
      {"resize.nearest_3d",
       "input %x: f32[1x3x4x7x9]\nconst %s: f32[5] = 1 1 2 1.5 0.7\n"
       "%y = Resize(%x, _, %s) {mode=\"nearest\"}\noutput %y\n"},
      {"resize.nearest_3d_u8",
       "input %x: u8[1x2x3x5x7] = noise(0, 255)\nconst %s: f32[5] = 1 1 2 2 2\n"
       "%y = Resize(%x, _, %s) {coordinate_transformation_mode=\"asymmetric\", "
       "mode=\"nearest\", nearest_mode=\"floor\"}\noutput %y\n"},
      {"resize.cubic_3d",
       "input %x: f32[1x2x5x6x7]\nconst %s: f32[5] = 1 1 1.5 2 0.8\n"
       "%y = Resize(%x, _, %s) {mode=\"cubic\"}\noutput %y\n"},
      {"resize.linear_batch_and_channels",
       "input %x: f32[2x3x4x5]\nconst %s: i64[4] = 3 5 4 7\n"
       "%y = Resize(%x, _, _, %s) {mode=\"linear\"}\noutput %y\n"},
      {"resize.cubic_i8",
       "input %x: i8[2x3x5x7] = noise(-128, 127)\nconst %s: f32[4] = 1 1 2 1.5\n"
       "%y = Resize(%x, _, %s) {mode=\"cubic\"}\noutput %y\n"},
      {"resize.linear_u8_align_corners",
       "input %x: u8[1x5x9x19] = noise(0, 255)\nconst %s: i64[4] = 1 5 14 37\n"
       "%y = Resize(%x, _, _, %s) {coordinate_transformation_mode=\"align_corners\", "
       "mode=\"linear\"}\noutput %y\n"},
      {"resize.linear_u8",
       "input %x: u8[1x3x5x7] = noise(0, 255)\nconst %s: f32[4] = 1 1 2 2\n"
       "%y = Resize(%x, _, %s) {mode=\"linear\"}\noutput %y\n"},
      {"resize.linear_f16",
       "input %x: f16[1x3x5x7]\nconst %s: f32[4] = 1 1 2 2\n"
       "%y = Resize(%x, _, %s) {mode=\"linear\"}\noutput %y\n"},
      {"resize.nearest_f16",
       "input %x: f16[2x3x7x9]\nconst %s: i64[4] = 2 3 11 5\n"
       "%y = Resize(%x, _, _, %s) {mode=\"nearest\"}\noutput %y\n"},
      {"resize.cubic_bf16",
       "input %x: bf16[1x2x9x31]\nconst %s: i64[4] = 1 2 4 7\n"
       "%y = Resize(%x, _, _, %s) {mode=\"cubic\"}\noutput %y\n"},
      {"resize.linear_channels_last",
       "input %x: f32[1x5x7x3]\nconst %s: f32[4] = 1 2 2 1\n"
       "%y = Resize(%x, _, %s) {mode=\"linear\"}\noutput %y\n"},
      {"resize.cubic_x2",
       "input %x: f32[1x3x7x5]\nconst %s: f32[4] = 1 1 2 2\n"
       "%y = Resize(%x, _, %s) {mode=\"cubic\"}\noutput %y\n"},
      {"resize.cubic_exclude_outside",
       "input %x: f32[1x3x7x5]\nconst %s: f32[4] = 1 1 0.8 1.7\n"
       "%y = Resize(%x, _, %s) {cubic_coeff_a=-0.5, exclude_outside=1, mode=\"cubic\"}\n"
       "output %y\n"},
      {"resize.antialias_linear",
       "input %x: f32[1x3x17x13]\nconst %s: i64[4] = 1 3 5 4\n"
       "%y = Resize(%x, _, _, %s) {antialias=1, mode=\"linear\"}\noutput %y\n"},
      {"resize.antialias_cubic",
       "input %x: f32[1x3x17x13]\nconst %s: i64[4] = 1 3 5 4\n"
       "%y = Resize(%x, _, _, %s) {antialias=1, exclude_outside=1, mode=\"cubic\"}\noutput %y\n"},
      {"resize.crop_and_resize",
       "input %x: f32[1x1x6x7]\nconst %r: f32[8] = 0 0 0.4 -0.2 1 1 0.9 0.8\n"
       "const %s: i64[4] = 1 1 5 4\n"
       "%y = Resize(%x, %r, _, %s) {coordinate_transformation_mode=\"tf_crop_and_resize\", "
       "extrapolation_value=10.0, mode=\"linear\"}\noutput %y\n"},
      {"resize.axes_not_larger",
       "input %x: f32[1x3x6x9]\nconst %s: i64[2] = 8 9\n"
       "%y = Resize(%x, _, _, %s) {axes=[2,3], keep_aspect_ratio_policy=\"not_larger\", "
       "mode=\"linear\"}\noutput %y\n"},
      {"resize.one_pixel",
       "input %x: f32[1x1x1x1]\nconst %s: f32[4] = 1 1 3 2\n"
       "%y = Resize(%x, _, %s) {mode=\"linear\"}\noutput %y\n"},
      {"resize.depth_to_space_dcr",
       "input %x: f32[2x20x3x5]\n%y = DepthToSpace(%x) {blocksize=2}\noutput %y\n"},
      {"resize.depth_to_space_crd",
       "input %x: f32[1x27x3x5]\n%y = DepthToSpace(%x) {blocksize=3, mode=\"CRD\"}\noutput %y\n"},
      {"resize.space_to_depth",
       "input %x: f32[2x3x6x10]\n%y = SpaceToDepth(%x) {blocksize=2}\noutput %y\n"},
      {"resize.space_to_depth_crd",
       "input %x: f32[2x5x6x9]\n%y = SpaceToDepth(%x) {blocksize=3, mode=\"CRD\"}\n"
       "output %y\n"},
      {"resize.grid_sample",
       "input %x: f32[2x3x5x7]\ninput %g: f32[2x4x6x2] = noise(-1.3, 1.3)\n"
       "%y = GridSample(%x, %g)\noutput %y\n"},
      {"resize.grid_sample_border_aligned",
       "input %x: f32[2x3x5x7]\ninput %g: f32[2x4x6x2] = noise(-1.7, 1.7)\n"
       "%y = GridSample(%x, %g) {align_corners=1, padding_mode=\"border\"}\noutput %y\n"},
      {"resize.grid_sample_constant_halves",
       "input %x: f16[2x3x5x7]\nconst %g: f16[2x4x6x2] = noise(-1.3, 1.3)\n"
       "%y = GridSample(%x, %g)\noutput %y\n"},
      {"resize.grid_sample_cubic_reflection",
       "input %x: f32[2x3x5x7]\ninput %g: f32[2x4x6x2] = noise(-2.5, 2.5)\n"
       "%y = GridSample(%x, %g) {mode=\"cubic\", padding_mode=\"reflection\"}\noutput %y\n"},
      {"resize.grid_sample_nearest",
       "input %x: f32[1x2x5x7]\ninput %g: f32[1x3x3x2] = noise(-1.5, 1.5)\n"
       "%y = GridSample(%x, %g) {mode=\"nearest\"}\noutput %y\n"},
      {"resize.grid_sample_3d",
       "input %x: f32[1x2x3x4x5]\ninput %g: f32[1x2x3x4x3] = noise(-1.2, 1.2)\n"
       "%y = GridSample(%x, %g)\noutput %y\n"},
      {"resize.grid_sample_cubic_aligned",
       "input %x: f32[1x9x6x5]\ninput %g: f32[1x5x61x2] = noise(-1.4, 1.4)\n"
       "%y = GridSample(%x, %g) {align_corners=1, mode=\"cubic\"}\noutput %y\n"},
      {"resize.grid_sample_line_reflection",
       "input %x: f32[2x20x7]\ninput %g: f32[2x19x1] = noise(-40, 40)\n"
       "%y = GridSample(%x, %g) {align_corners=1, padding_mode=\"reflection\"}\noutput %y\n"},
      {"resize.grid_sample_far_reflection",
       "input %x: f32[1x2x5x1]\ninput %g: f32[1x4x6x2] = noise(-3e12, 3e12)\n"
       "%y = GridSample(%x, %g) {mode=\"nearest\", padding_mode=\"reflection\"}\noutput %y\n"},
      {"resize.grid_sample_nowhere",
       "input %x: f32[1x3x4x5]\n"
       "const %g: f32[1x2x4x2] = nan 0.5 0.5 nan inf 0.5 0.5 -inf -inf inf 1e30 -1e30 1 -1 -1.5 1\n"
       "%y = GridSample(%x, %g) {padding_mode=\"reflection\"}\noutput %y\n"},
      {"resize.grid_sample_unweighted_infinity",
       "const %x: f32[1x1x2x3] = inf 1 -inf nan 2 inf\ninput %g: f32[1x9x8x2] = noise(-2, 2)\n"
       "%y = GridSample(%x, %g) {align_corners=1, padding_mode=\"border\"}\noutput %y\n"},
      {"resize.grid_sample_3d_cubic_border",
       "input %x: f32[1x3x3x4x2]\ninput %g: f32[1x2x3x7x3] = noise(-1.2, 1.2)\n"
       "%y = GridSample(%x, %g) {mode=\"cubic\", padding_mode=\"border\"}\noutput %y\n"},
      {"resize.grid_sample_constant_grid",
       "input %x: f32[1x16x5x7]\nconst %g: f32[1x7x39x2] = noise(-1.3, 1.3)\n"
       "%y = GridSample(%x, %g) {padding_mode=\"reflection\"}\noutput %y\n"},
      {"resize.grid_sample_constant_picture",
       "const %x: f32[1x3x5x4x3] = noise(-1, 1)\ninput %g: f32[1x6x11x1x3] = noise(-1.3, 1.3)\n"
       "%y = GridSample(%x, %g) {align_corners=1, padding_mode=\"border\"}\noutput %y\n"},
      {"resize.grid_sample_empty_batch",
       "input %x: f32[0x3x5x7]\ninput %g: f32[0x4x6x2]\n%y = GridSample(%x, %g)\noutput %y\n"},
      {"resize.grid_sample_half",
       "input %x: f16[2x3x5x7]\ninput %g: f16[2x4x6x2] = noise(-1.3, 1.3)\n"
       "%y = GridSample(%x, %g)\noutput %y\n"},
      {"resize.affine_grid_2d",
       "input %t: f32[2x2x3]\nconst %s: i64[4] = 2 3 4 5\n%y = AffineGrid(%t, %s)\noutput %y\n"},
      {"resize.affine_grid_3d",
       "input %t: f32[1x3x4]\nconst %s: i64[5] = 1 3 2 4 5\n"
       "%y = AffineGrid(%t, %s) {align_corners=1}\noutput %y\n"},
      {"resize.center_crop_pad",
       "input %x: f32[5x8x3]\nconst %s: i64[2] = 3 11\n"
       "%y = CenterCropPad(%x, %s) {axes=[0,1]}\noutput %y\n"},
      {"resize.center_crop_pad_bytes",
       "input %x: u8[2x5x8x3]\nconst %s: i64[3] = 9 4 2\n"
       "%y = CenterCropPad(%x, %s) {axes=[1,-2,3]}\noutput %y\n"},
      {"resize.col2im",
       "input %x: f32[1x20x9]\nconst %i: i64[2] = 6 7\nconst %b: i64[2] = 2 2\n"
       "%y = Col2Im(%x, %i, %b) {dilations=[1,2], pads=[0,1,0,0], strides=[2,2]}\noutput %y\n"},
      {"resize.col2im_1d",
       "input %x: f32[2x6x5]\n"
       "const %i: i64[1] = 7\n"
       "const %b: i64[1] = 3\n"
       "%y = Col2Im(%x, %i, %b)\n"
       "output %y\n"},
      {"resize.col2im_dilated_apart",
       "input %x: f64[1x12x4]\n"
       "const %i: i64[2] = 7 9\n"
       "const %b: i64[2] = 2 3\n"
       "%y = Col2Im(%x, %i, %b) {dilations=[4,3], pads=[0,2,1,1], strides=[2,3]}\n"
       "output %y\n"},
      {"resize.col2im_3d",
       "input %x: f16[1x24x12]\n"
       "const %i: i64[3] = 3 4 3\n"
       "const %b: i64[3] = 2 2 2\n"
       "%y = Col2Im(%x, %i, %b)\n"
       "output %y\n"},
      {"resize.col2im_long_lines",
       "input %x: f32[2x18x350]\n"
       "const %i: i64[2] = 12 37\nconst %b: i64[2] = 3 3\n"
       "%y = Col2Im(%x, %i, %b)\noutput %y\n"},
      {"resize.col2im_short_lines",
       "input %x: f32[2x6x55]\n"
       "const %i: i64[2] = 15 31\nconst %b: i64[2] = 3 1\n"
       "%y = Col2Im(%x, %i, %b) {strides=[3, 3]}\noutput %y\n"},
      {"resize.col2im_past_blocks",
       "input %x: f32[2x6x56]\n"
       "const %i: i64[2] = 12 54\nconst %b: i64[2] = 1 2\n"
       "%y = Col2Im(%x, %i, %b) {strides=[3, 4]}\noutput %y\n"},
      {"resize.col2im_3d_past_blocks",
       "input %x: f32[1x8x20]\n"
       "const %i: i64[3] = 6 6 10\nconst %b: i64[3] = 1 2 2\n"
       "%y = Col2Im(%x, %i, %b) {strides=[3, 3, 2]}\noutput %y\n"},
      {"resize.col2im_3d_strided",
       "input %x: f32[2x24x27]\n"
       "const %i: i64[3] = 5 6 7\n"
       "const %b: i64[3] = 2 3 2\n"
       "%y = Col2Im(%x, %i, %b) {dilations=[1,2,1], pads=[1,0,1,0,1,0], strides=[2,1,3]}\n"
       "output %y\n"},
      {"resize.affine_grid_one_pixel",
       "input %t: f16[3x2x3]\n"
       "const %s: i64[4] = 3 1 1 7\n"
       "%y = AffineGrid(%t, %s) {align_corners=1}\n"
       "output %y\n"},
      {"resize.nearest_x2_bench",
       "input %x: f32[1x64x80x80]\nconst %s: f32[4] = 1 1 2 2\n"
       "%y = Resize(%x, _, %s) {coordinate_transformation_mode=\"asymmetric\", mode=\"nearest\", "
       "nearest_mode=\"floor\"}\noutput %y\n",
       true},
      {"resize.linear_x2_bench",
       "input %x: f32[1x64x80x80]\nconst %s: f32[4] = 1 1 2 2\n"
       "%y = Resize(%x, _, %s) {mode=\"linear\"}\noutput %y\n",
       true},
      {"resize.cubic_x2_bench",
       "input %x: f32[1x3x360x480]\nconst %s: f32[4] = 1 1 2 2\n"
       "%y = Resize(%x, _, %s) {mode=\"cubic\"}\noutput %y\n",
       true},
      {"resize.depth_to_space_bench",
       "input %x: f32[1x48x180x240]\n%y = DepthToSpace(%x) {blocksize=4, mode=\"CRD\"}\n"
       "output %y\n",
       true},
      {"resize.grid_sample_bench",
       "input %x: f32[1x16x128x128]\ninput %g: f32[1x128x128x2] = noise(-1.1, 1.1)\n"
       "%y = GridSample(%x, %g) {align_corners=1}\noutput %y\n",
       true},
  };
  return kCases;
}

}  // namespace fettle::ops
