#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> GenerateCases() {
  static constexpr Case kCases[] = {
      {"generate.fill_default",
       "const %s: i64[3] = 2 3 5\n"
       "%y = ConstantOfShape(%s)\n"
       "output %y\n"},
      {"generate.fill_i64_scalar",
       "const %s: i64[0] =\n"
       "%y = ConstantOfShape(%s) {value=const i64[1] = 7}\n"
       "output %y\n"},
      {"generate.fill_empty",
       "const %s: i64[2] = 0 4\n"
       "%y = ConstantOfShape(%s) {value=const bool[1] = 1}\n"
       "output %y\n"},
      {"generate.fill_large",
       "const %s: i64[2] = 1024 1024\n"
       "%y = ConstantOfShape(%s) {value=const f32[1] = 0.5}\n"
       "output %y\n",
       true},
      {"generate.random_rows",
       "const %s: i64[3] = 3 1 67\n"
       "%y = RandomUniform(%s) {seed=77}\n"
       "output %y\n"},
      {"generate.random_empty",
       "const %s: i64[2] = 0 4\n"
       "%y = RandomUniform(%s) {seed=-1}\n"
       "output %y\n"},
      {"generate.random_scalar",
       "const %s: i64[0] =\n"
       "%y = RandomUniform(%s)\n"
       "output %y\n"},
      {"generate.range_floats",
       "const %a: f32[] = 1.5\n"
       "const %b: f32[] = 4.0\n"
       "const %d: f32[] = 0.25\n"
       "%y = Range(%a, %b, %d)\n"
       "output %y\n"},
      {"generate.range_backwards",
       "const %a: i32[] = 10\n"
       "const %b: i32[] = -4\n"
       "const %d: i32[] = -3\n"
       "%y = Range(%a, %b, %d)\n"
       "output %y\n"},
      {"generate.range_empty",
       "const %a: i64[] = 3\n"
       "const %b: i64[] = 3\n"
       "const %d: i64[] = 1\n"
       "%y = Range(%a, %b, %d)\n"
       "output %y\n"},
      {"generate.eye_off_diagonal",
       "input %x: i32[5x7]\n"
       "%y = EyeLike(%x) {dtype=\"f32\", k=-2}\n"
       "output %y\n"},
      {"generate.one_hot_last_axis",
       "const %i: i64[2x3] = 0 5 -1 2 -6 6\n"
       "const %d: i64[] = 6\n"
       "const %v: f32[2] = -1.0 2.0\n"
       "%y = OneHot(%i, %d, %v)\n"
       "output %y\n"},
      {"generate.one_hot_first_axis_float_indices",
       "const %i: f32[5] = 0 1 2 3 1\n"
       "const %d: f32[1] = 3\n"
       "const %v: i64[2] = 0 1\n"
       "%y = OneHot(%i, %d, %v) {axis=0}\n"
       "output %y\n"},
      {"generate.triu",
       "input %x: f32[2x5x7]\n"
       "const %k: i64[] = 1\n"
       "%y = Trilu(%x, %k)\n"
       "output %y\n"},
      {"generate.tril_far_below",
       "input %x: u8[5x3]\n"
       "const %k: i64[] = -9\n"
       "%y = Trilu(%x, %k) {upper=0}\n"
       "output %y\n"},
      {"generate.tril_mask",
       "input %x: f32[1x512x512]\n"
       "%y = Trilu(%x) {upper=0}\n"
       "output %y\n",
       true},
      {"generate.trilu_bytes_wide",
       "input %x: u8[2x3x131]\n"
       "const %k: i64[] = 40\n"
       "%y = Trilu(%x, %k)\n"
       "output %y\n"},
      {"generate.trilu_far",
       "input %x: i64[5x3]\n"
       "const %k: i64[] = -900\n"
       "%y = Trilu(%x, %k)\n"
       "output %y\n"},
      {"generate.trilu_far_lower",
       "input %x: f16[3x5]\n"
       "const %k: i64[] = -9\n"
       "%y = Trilu(%x, %k) {upper=0}\n"
       "output %y\n"},
      {"generate.trilu_bound_diagonal",
       "input %x: f64[3x1x4]\n"
       "input %k: i64[1] = noise(0, 2)\n"
       "%y = Trilu(%x, %k) {upper=0}\n"
       "output %y\n"},
      {"generate.trilu_empty",
       "input %x: f32[2x0x4]\n"
       "%y = Trilu(%x)\n"
       "output %y\n"},
      {"generate.eye_bool",
       "input %x: f32[3x70]\n"
       "%y = EyeLike(%x) {dtype=\"bool\", k=5}\n"
       "output %y\n"},
      {"generate.eye_outside",
       "input %x: i64[3x2]\n"
       "%y = EyeLike(%x) {k=99}\n"
       "output %y\n"},
      {"generate.eye_half",
       "input %x: f16[4x4]\n"
       "%y = EyeLike(%x)\n"
       "output %y\n"},
      {"generate.range_i16",
       "const %a: i16[] = 9\n"
       "const %b: i16[] = -40\n"
       "const %d: i16[] = -7\n"
       "%y = Range(%a, %b, %d)\n"
       "output %y\n"},
      {"generate.range_f64",
       "const %a: f64[] = 0.5\n"
       "const %b: f64[] = 7\n"
       "const %d: f64[] = 0.1\n"
       "%y = Range(%a, %b, %d)\n"
       "output %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
