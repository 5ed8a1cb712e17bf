#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> DistanceCases() {
  static constexpr Case kCases[] = {
      {"distance.bench",
       "input %a: f32[64x128]\n"
       "input %b: f32[500x128]\n"
       "%y = CDist(%a, %b) {metric=\"euclidean\"}\n"
       "output %y\n",
       true},
      {"distance.constant_points",
       "input %a: f32[3x17]\n"
       "const %b: f32[29x17]\n"
       "%y = CDist(%a, %b) {metric=\"sqeuclidean\"}\n"
       "output %y\n"},
      {"distance.empty",
       "input %a: f32[0x5]\n"
       "input %b: f32[4x5]\n"
       "%y = CDist(%a, %b)\n"
       "output %y\n"},
      {"distance.f16",
       "input %a: f16[5x19]\n"
       "input %b: f16[7x19]\n"
       "%y = CDist(%a, %b)\n"
       "output %y\n"},
      {"distance.f64",
       "input %a: f64[5x3]\n"
       "input %b: f64[7x3]\n"
       "%y = CDist(%a, %b) {metric=\"euclidean\"}\n"
       "output %y\n"},
      {"distance.long_rows",
       "input %a: f32[2x4099]\n"
       "input %b: f32[3x4099]\n"
       "%y = CDist(%a, %b)\n"
       "output %y\n"},
      {"distance.no_length",
       "input %a: f32[2x0]\n"
       "input %b: f32[3x0]\n"
       "%y = CDist(%a, %b)\n"
       "output %y\n"},
      {"distance.one_element",
       "input %a: f32[1x1]\n"
       "input %b: f32[1x1]\n"
       "%y = CDist(%a, %b)\n"
       "output %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
