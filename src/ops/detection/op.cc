#include "ops/detection/op.h"

#include <algorithm>
#include <numeric>

#include "ops/infer.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

struct Box {
  double low_y, low_x, high_y, high_x;
};

/// Corners may come in any order.
Box MakeBox(const double* v, bool center) {
  if (center) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

double Area(const Box& box) { return (box.high_y - box.low_y) * (box.high_x - box.low_x); }

/// True if intersection over union passes the threshold; boxes without area overlap nothing.
bool Overlaps(const Box& a, const Box& b, double threshold) {
  const double height = std::min(a.high_y, b.high_y) - std::max(a.low_y, b.low_y);
  const double width = std::min(a.high_x, b.high_x) - std::max(a.low_x, b.low_x);
  if (!(height > 0 && width > 0) || !(Area(a) > 0 && Area(b) > 0)) return false;
  const double shared = height * width;
  const double joined = Area(a) + Area(b) - shared;
  return joined > 0 && shared / joined > threshold;
}

/// The boxes of one class in one batch, best first.
std::vector<int64_t> Select(const NmsOperands& operands, const double* boxes,
                            const double* scores) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < operands.boxes; ++i) {
    if (!operands.has_score_threshold || scores[i] > operands.score_threshold) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> selected;
  std::vector<Box> kept;
  for (int64_t i : order) {
    if (static_cast<int64_t>(selected.size()) >= operands.max_per_class) break;
    const Box box = MakeBox(boxes + 4 * i, operands.center_point_box);
    const bool suppressed = std::any_of(kept.begin(), kept.end(), [&](const Box& other) {
      return Overlaps(box, other, operands.iou_threshold);
    });
    if (suppressed) continue;
    selected.push_back(i);
    kept.push_back(box);
  }
  return selected;
}

double ScalarOr(const InferContext& context, int i, double fallback) {
  const Constant* value = context.value(i);
  return value == nullptr || value->elements() == 0 ? fallback : value->GetDouble(0);
}

std::vector<double> Doubles(const Constant& constant) {
  std::vector<double> values;
  values.reserve(constant.elements());
  for (int64_t i = 0; i < constant.elements(); ++i) values.push_back(constant.GetDouble(i));
  return values;
}

Status CheckOperands(const InferContext& context) {
  RETURN_IF_ERROR(CheckTypes(context, 0, 2, kFloatTypes));
  RETURN_IF_ERROR(CheckType(context, 2, kIntegerTypes));
  RETURN_IF_ERROR(CheckTypes(context, 3, 5, kFloatTypes));
  const Shape &boxes = context.shape(0), &scores = context.shape(1);
  if (boxes.rank() != 3 || boxes[2] != 4 || scores.rank() != 3 || scores[0] != boxes[0] ||
      scores[2] != boxes[1]) {
    return InvalidModel("boxes {} and scores {} do not fit", boxes.ToString(), scores.ToString());
  }
  for (int i = 2; i < context.num_inputs(); ++i) {
    if (context.has_input(i) && context.shape(i).elements() > 1)
      return InvalidModel("input {}: expected one value", i);
  }
  return OkStatus();
}

/// The number of selected boxes is part of the shape: the algorithm runs at shape time.
Status InferNonMaxSuppression(InferContext& context) {
  RETURN_IF_ERROR(CheckOperands(context));
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i) || context.value(i) != nullptr) continue;
    context.MarkDataDependent(i);
    return OkStatus();
  }
  const Shape &boxes = context.shape(0), &scores = context.shape(1);
  NmsOperands operands = {boxes[0], scores[1], boxes[1], Doubles(*context.value(0)),
                          Doubles(*context.value(1))};
  const std::vector<int64_t> max_per_class = context.Ints(2);
  operands.max_per_class = max_per_class.empty() ? 0 : max_per_class[0];
  operands.iou_threshold = ScalarOr(context, 3, 0);
  operands.has_score_threshold = context.has_input(4) && context.shape(4).elements() == 1;
  operands.score_threshold = ScalarOr(context, 4, 0);
  operands.center_point_box = context.attributes().Int("center_point_box", 0) != 0;
  const auto selected = static_cast<int64_t>(SelectBoxes(operands).size());
  context.SetOutput(0, DType::kI64, Shape{selected, 3});
  return OkStatus();
}

constexpr ImportRule kDetectionImports[] = {{.op_type = "NonMaxSuppression", .since = 10}};

}  // namespace

std::vector<std::array<int64_t, 3>> SelectBoxes(const NmsOperands& operands) {
  std::vector<std::array<int64_t, 3>> result;
  for (int64_t batch = 0; batch < operands.batches; ++batch) {
    for (int64_t c = 0; c < operands.classes; ++c) {
      const double* scores =
          operands.scores.data() + (batch * operands.classes + c) * operands.boxes;
      const double* boxes = operands.box_values.data() + batch * operands.boxes * 4;
      for (int64_t box : Select(operands, boxes, scores)) result.push_back({batch, c, box});
    }
  }
  return result;
}

Status NonMaxSuppressionReference(const RefContext& context, const Region& region);

std::span<const Operator> DetectionOps() {
  static const Operator kOps[] = {
      {{.name = "NonMaxSuppression",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 2,
        .max_inputs = 5,
        .host_inputs = 0b11111},
       {.infer = InferNonMaxSuppression,
        .reference = NonMaxSuppressionReference,
        .imports = kDetectionImports,
        .types = "floats"}},
  };
  return kOps;
}

}  // namespace fettle::ops
