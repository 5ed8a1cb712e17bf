#include "ops/cases.h"

namespace fettle::ops {

// Boxes and scores are constants: the number of selected boxes is part of the output's shape.
std::span<const Case> DetectionCases() {
  static constexpr Case kCases[] = {
      {"detection.nms",
       "const %b: f32[2x37x4] = noise(0, 10)\nconst %s: f32[2x3x37] = noise(0, 1)\n"
       "const %m: i64[1] = 5\nconst %i: f32[1] = 0.4\nconst %t: f32[1] = 0.2\n"
       "%y = NonMaxSuppression(%b, %s, %m, %i, %t)\noutput %y\n"},
      {"detection.nms_center_points",
       "const %b: f32[1x17x4] = noise(1, 10)\nconst %s: f32[1x1x17] = noise(0, 1)\n"
       "const %m: i64[] = 100\nconst %i: f32[] = 0.5\n"
       "%y = NonMaxSuppression(%b, %s, %m, %i) {center_point_box=1}\noutput %y\n"},
      {"detection.nms_nothing_asked",
       "const %b: f32[1x5x4] = noise(0, 10)\nconst %s: f32[1x1x5] = noise(0, 1)\n"
       "%y = NonMaxSuppression(%b, %s)\noutput %y\n"},
      {"detection.nms_no_boxes",
       "const %b: f32[1x0x4]\nconst %s: f32[1x2x0]\nconst %m: i64[] = 3\n"
       "%y = NonMaxSuppression(%b, %s, %m)\noutput %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
