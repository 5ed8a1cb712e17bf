// Oracle of NonMaxSuppression: greedy selection by falling score.
#include "ops/detection/op.h"
#include "ops/element_access.h"
#include "ops/op.h"

namespace fettle::ops {

Status NonMaxSuppressionReference(const RefContext& context, const Region&) {
  const HostView &boxes = context.inputs[0], &scores = context.inputs[1], &y = context.outputs[0];
  const auto scalar = [&](size_t i) {
    const bool present = context.has_input(i) && context.inputs[i].shape.elements() == 1;
    return present ? context.inputs[i].GetDouble(0) : 0.0;
  };
  NmsOperands operands = {boxes.shape[0], scores.shape[1], boxes.shape[1], DoublesOf(boxes),
                          DoublesOf(scores)};
  const std::vector<int64_t> max_per_class =
      context.has_input(2) ? IntsOf(context.inputs[2]) : std::vector<int64_t>();
  operands.max_per_class = max_per_class.empty() ? 0 : max_per_class[0];
  operands.iou_threshold = scalar(3);
  operands.has_score_threshold = context.has_input(4) && context.inputs[4].shape.elements() == 1;
  operands.score_threshold = scalar(4);
  operands.center_point_box = context.attributes().Int("center_point_box", 0) != 0;
  const auto selected = SelectBoxes(operands);
  if (static_cast<int64_t>(selected.size()) != y.shape[0])
    return InvalidArgument("{} boxes are selected, expected {}", selected.size(), y.shape[0]);
  for (int64_t i = 0; i < y.shape[0]; ++i) {
    for (int64_t k = 0; k < 3; ++k) {
      y.SetInt(i * y.strides[0] + k * y.strides[1], selected[i][k]);
    }
  }
  return OkStatus();
}

}  // namespace fettle::ops
