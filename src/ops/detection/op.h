// Detection: non-maximum suppression.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace fettle::ops {

/// Operands of NonMaxSuppression, copied: box_values [batches, boxes, 4], scores [batches, classes,
/// boxes].
struct NmsOperands {
  int64_t batches = 0, classes = 0, boxes = 0;
  std::vector<double> box_values, scores;
  int64_t max_per_class = 0;
  double iou_threshold = 0;
  double score_threshold = 0;
  bool has_score_threshold = false;
  bool center_point_box = false;  // x, y, width, height instead of two corners
};

/// The selected (batch, class, box), in order of batch, class and falling score.
std::vector<std::array<int64_t, 3>> SelectBoxes(const NmsOperands& operands);

}  // namespace fettle::ops
