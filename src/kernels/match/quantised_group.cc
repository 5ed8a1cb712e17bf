#include "kernels/match/quantised_group.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/op.h"

namespace fettle::kernels {
namespace {

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

class Reader {
 public:
  Reader(const ir::Graph& group, bool computed_w)
      : group_(group), producers_(group.Producers()), computed_w_(computed_w) {}

  Result<QuantisedGroup> Read() {
    for (const ir::Node& node : group_.nodes()) {
      const bool integer = node.op == "ConvInteger"_op || node.op == "MatMulInteger"_op;
      const bool dequantised =
          node.op == "Conv"_op || node.op == "Gemm"_op || node.op == "MatMul"_op;
      if (!integer && !dequantised) continue;
      if (q_.core != nullptr) return Unsupported("more than one product");
      q_.core = &node;
      RETURN_IF_ERROR(integer ? ReadInteger(node) : ReadDequantised(node));
    }
    if (q_.core == nullptr) return Unsupported("computes products of dequantised operands only");
    if (!IsByte(group_.value(q_.x).dtype) || group_.value(q_.x).is_constant())
      return Unsupported("the input is not a computed tensor of bytes");
    if (!IsByte(group_.value(q_.w).dtype))
      return Unsupported("the second operand is not a tensor of bytes");
    const bool constant_w = group_.value(q_.w).is_constant();
    if (constant_w && computed_w_) return Unsupported("constant weights");
    if (!constant_w && !computed_w_) return Unsupported("the weights are not constant");
    for (ir::ValueId id : {q_.w_scale, q_.w_zero, q_.bias, q_.bias_scale}) {
      if (id != ir::kAbsent && !group_.value(id).is_constant())
        return Unsupported("a parameter of the weights or the bias is not constant");
    }
    ReadTail();
    return q_;
  }

 private:
  const ir::Node* Dequantiser(ir::ValueId id) const {
    if (id == ir::kAbsent) return nullptr;
    const ir::NodeId producer = producers_[id];
    if (producer < 0 || group_.node(producer).op != "DequantizeLinear"_op) return nullptr;
    return &group_.node(producer);
  }

  /// The value of a constant of one element; nothing where it is another one.
  std::optional<double> Scalar(ir::ValueId id) const {
    if (id == ir::kAbsent) return 0;
    const ir::Value& value = group_.value(id);
    if (!value.is_constant() || value.constant->elements() != 1) return std::nullopt;
    return value.constant->GetDouble(0);
  }

  Status ReadInteger(const ir::Node& node) {
    q_.x = node.input(0);
    q_.w = node.input(1);
    q_.x_zero = node.input(2);
    q_.w_zero = node.input(3);
    if (q_.x_zero != ir::kAbsent && group_.value(q_.x_zero).shape->elements() != 1)
      return Unsupported("a zero point for each row");
    return OkStatus();
  }

  Status ReadDequantised(const ir::Node& node) {
    const ir::Node* x = Dequantiser(node.input(0));
    const ir::Node* w = Dequantiser(node.input(1));
    if (x == nullptr || w == nullptr) return Unsupported("an operand is not dequantised");
    if (w->attributes.Int("block_size", 0) != 0) return Unsupported("blocks of scales");
    const std::optional<double> scale = Scalar(x->input(1));
    if (!scale || !Scalar(x->input(2))) return Unsupported("the input has several scales");
    q_.x = x->input(0);
    q_.x_scale = *scale;
    q_.x_zero = x->input(2);
    q_.w = w->input(0);
    q_.w_scale = w->input(1);
    q_.w_zero = w->input(2);
    RETURN_IF_ERROR(CheckAxis(node, *w));
    if (node.op == "Gemm"_op &&
        (node.attributes.Float("alpha", 1) != 1 || node.attributes.Float("beta", 1) != 1 ||
         node.attributes.Int("transA") != 0)) {
      return Unsupported("Gemm with alpha, beta or transA");
    }
    return node.op == "MatMul"_op ? OkStatus() : ReadBias(node.input(2));
  }

  /// Scales of the weights must run along the output channels.
  Status CheckAxis(const ir::Node& node, const ir::Node& dequantiser) const {
    const int64_t scales = group_.value(q_.w_scale).shape->elements();
    if (scales == 1) return OkStatus();
    const Shape& w = *group_.value(q_.w).shape;
    const int channels =
        node.op == "Conv"_op || (node.op == "Gemm"_op && node.attributes.Int("transB") != 0)
            ? 0
            : w.rank() - 1;
    const auto axis = NormaliseAxis(dequantiser.attributes.Int("axis", 1), w.rank());
    if (axis != channels) return Unsupported("scales of the weights along another axis");
    return OkStatus();
  }

  Status ReadBias(ir::ValueId id) {
    if (id == ir::kAbsent) return OkStatus();
    if (group_.value(id).is_constant()) {
      q_.bias = id;
      return OkStatus();
    }
    const ir::Node* bias = Dequantiser(id);
    if (bias == nullptr || group_.value(bias->input(0)).dtype != DType::kI32)
      return Unsupported("the bias is neither constant nor dequantised");
    const ir::ValueId zero = bias->input(2);
    if (zero != ir::kAbsent) {
      if (!group_.value(zero).is_constant()) return Unsupported("a computed zero point");
      const Constant& zeros = *group_.value(zero).constant;
      for (int64_t i = 0; i < zeros.elements(); ++i) {
        if (zeros.GetInt(i) != 0) return Unsupported("the bias has a zero point");
      }
    }
    q_.bias = bias->input(0);
    q_.bias_scale = bias->input(1);
    return OkStatus();
  }

  using Requantise = QuantisedGroup::Requantise;

  /// The first node that reads `value`; null where none does.
  const ir::Node* ReaderOf(ir::ValueId value) const {
    for (const ir::Node& node : group_.nodes()) {
      if (std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end())
        return &node;
    }
    return nullptr;
  }

  /// What follows the core, up to the end of the group.
  void ReadTail() {
    if (q_.core->op == "ConvInteger"_op || q_.core->op == "MatMulInteger"_op) return;
    ir::ValueId value = q_.anchor();
    const std::optional<Requantise> first = ReadClamps(value);
    if (!first) return;
    if (EndsAt(value)) {
      q_.requantise = first;
    } else {
      ReadResidual(*first, value);
    }
  }

  bool EndsAt(ir::ValueId value) const {
    return group_.outputs.size() == 1 && group_.outputs[0] == value;
  }

  /// Follows clamps from `value` to a QuantizeLinear, whose output takes its place.
  std::optional<Requantise> ReadClamps(ir::ValueId& value) const {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    while (const ir::Node* node = ReaderOf(value)) {
      if (node->input(0) != value) return std::nullopt;
      value = node->output(0);
      if (node->op == "Relu"_op) {
        low = std::max(low, 0.0);
        high = std::max(high, 0.0);
      } else if (node->op == "Clip"_op) {
        const auto least = node->input(1) == ir::kAbsent ? low : Scalar(node->input(1));
        const auto most = node->input(2) == ir::kAbsent ? high : Scalar(node->input(2));
        if (!least || !most) return std::nullopt;
        low = std::min(std::max(low, *least), *most);
        high = std::min(std::max(high, *least), *most);
      } else if (node->op == "QuantizeLinear"_op) {
        return ReadQuantiser(*node, low, high);
      } else {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  /// `bytes`, of `product`, through DequantizeLinear and Add to the group's end.
  void ReadResidual(const Requantise& product, ir::ValueId bytes) {
    const ir::Node* dequantised = ReaderOf(bytes);
    if (dequantised == nullptr || dequantised->op != "DequantizeLinear"_op) return;
    const ir::Node* sum = ReaderOf(dequantised->output(0));
    if (sum == nullptr || sum->op != "Add"_op) return;
    const bool is_first = sum->input(0) == dequantised->output(0);
    const ir::Node* other = Dequantiser(sum->input(is_first ? 1 : 0));
    if (other == nullptr || other == dequantised) return;
    const auto product_scale = Scalar(dequantised->input(1)), scale = Scalar(other->input(1));
    const auto product_zero = Scalar(dequantised->input(2)), zero = Scalar(other->input(2));
    if (!product_scale || !scale || !zero || product_zero != product.zero ||
        !IsShortcut(other->input(0), bytes)) {
      return;
    }
    ir::ValueId value = sum->output(0);
    const std::optional<Requantise> end = ReadClamps(value);
    if (!end || !EndsAt(value) || !IsUsual(*product_scale) || !IsUsual(*scale) ||
        !IsUsual(end->scale)) {
      return;
    }
    q_.residual = {.product = product,
                   .product_bytes = bytes,
                   .product_scale = *product_scale,
                   .shortcut = other->input(0),
                   .scale = *scale,
                   .zero = static_cast<int32_t>(*zero),
                   .sum = *end};
  }

  bool IsShortcut(ir::ValueId id, ir::ValueId bytes) const {
    const ir::Value& value = group_.value(id);
    return IsByte(value.dtype) && value.shape == group_.value(bytes).shape &&
           std::find(group_.inputs.begin(), group_.inputs.end(), id) != group_.inputs.end();
  }

  static bool IsUsual(double scale) {
    const auto s = static_cast<float>(scale);
    return s > 0 && std::isnormal(s) && std::isnormal(1 / s);
  }

  std::optional<Requantise> ReadQuantiser(const ir::Node& node, double low, double high) const {
    const std::optional<double> scale = Scalar(node.input(1)), zero = Scalar(node.input(2));
    const DType dtype = group_.value(node.output(0)).dtype;
    // By other scales, bounds change places or have none.
    if (!scale || !zero || !IsByte(dtype) || !(*scale > 0) || std::isinf(*scale))
      return std::nullopt;
    Requantise r;
    r.scale = *scale;
    r.zero = static_cast<int32_t>(*zero);
    const int32_t least = dtype == DType::kU8 ? 0 : -128, most = dtype == DType::kU8 ? 255 : 127;
    // Rounding is monotonic: clamping before it and clamping its result agree.
    const auto quantise = [&](double bound) {
      const double step = std::nearbyint(bound / *scale) + r.zero;
      return static_cast<int32_t>(std::clamp<double>(step, least, most));
    };
    r.low = quantise(low);
    r.high = quantise(high);
    return r;
  }

  const ir::Graph& group_;
  std::vector<ir::NodeId> producers_;
  bool computed_w_;
  QuantisedGroup q_;
};

}  // namespace

Result<QuantisedGroup> ReadQuantisedGroup(const ir::Graph& group) {
  return Reader(group, false).Read();
}

Result<QuantisedGroup> ReadComputedProduct(const ir::Graph& group) {
  ASSIGN_OR_RETURN(QuantisedGroup q, Reader(group, true).Read());
  if (q.core->op != "MatMul"_op && q.core->op != "Gemm"_op)
    return Unsupported("computes products of matrices only");
  if (q.bias != ir::kAbsent) return Unsupported("a bias");
  for (ir::ValueId id : {q.w_scale, q.w_zero}) {
    if (id != ir::kAbsent && group.value(id).constant->elements() != 1)
      return Unsupported("several scales of the second operand");
  }
  if (!q.requantise && group.outputs != std::vector{q.anchor()})
    return Unsupported("more than a QuantizeLinear after the product");
  return q;
}

}  // namespace fettle::kernels
