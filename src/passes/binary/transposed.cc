#include "passes/binary/transposed.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "ops/conv_transpose/op.h"
#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// Outputs u = stride * m + phase on an axis: a convolution of step 1 with the taps that reach
/// them, in the order of the inputs that they read.
struct StridePhase {
  std::vector<int64_t> taps;  // of the transposed convolution
  int64_t dilation = 1, pad_begin = 0, pad_end = 0;
};

/// Nothing where no tap reaches the phase, or inputs would be cropped.
std::optional<StridePhase> FindPhase(const ops::ConvTransposeAttributes& conv, size_t axis,
                                     int64_t phase, int64_t input) {
  const int64_t stride = conv.strides[axis], step = conv.dilations[axis];
  StridePhase found;
  std::vector<int64_t> places;  // what tap t reads for output m, less m
  for (int64_t t = conv.kernel[axis]; t-- > 0;) {
    const int64_t at = phase + conv.pad_begin[axis] - t * step;
    if (at % stride != 0) continue;
    found.taps.push_back(t);
    places.push_back(at / stride);
  }
  if (found.taps.empty()) return std::nullopt;
  found.dilation = step / std::gcd(step, stride);
  const int64_t outputs = conv.output[axis] / stride;
  found.pad_begin = -places.front();
  found.pad_end = outputs - 1 + places.back() - (input - 1);
  if (found.pad_begin < 0 || found.pad_end < 0) return std::nullopt;
  return found;
}

class TransposedSplitter {
 public:
  TransposedSplitter(const ir::Graph& graph, const TwoValuedAnalysis& analysis, ir::NodeId id,
                     std::string& why)
      : graph_(graph), analysis_(analysis), node_(graph.node(id)), why_(why) {}

  /// Whether all is known and two-valued.
  bool Read() {
    const Constant* w = ConstantOf(graph_, node_.inputs[1]);
    const ir::Value &x = graph_.value(node_.inputs[0]), &y = graph_.value(node_.outputs[0]);
    if (w == nullptr || w->dtype() != DType::kF32)
      return Refuse("its weights are not an f32 constant");
    if (!IsTwoValued()) return Refuse("its input is not two-valued");
    if (!x.has_concrete_shape() || !y.has_concrete_shape()) return Refuse("its shape is open");
    const auto conv = ops::ReadConvTranspose(node_, *x.shape, w->shape());
    if (!conv.ok()) return Refuse("its attributes do not fit");
    conv_ = *conv;
    input_ = *x.shape;
    const Result<Tensor> weights = w->ToTensor();
    if (!weights.ok()) return Refuse("out of memory");
    weights_ = *weights;
    if (conv_.group > 1 && input_[1] / conv_.group < kLeastGroup)
      return Refuse("a group has too few channels");
    return PhasesFit() && WeightsAreTwoValued();
  }

  /// Replaces the node.
  Status Split(Editor& editor, ir::NodeId id) const {
    const ir::Node node = editor.node(id);
    std::vector<ir::ValueId> parts;
    const int64_t count = PhaseCount();
    for (int64_t at = 0; at < count; ++at) {
      std::vector<StridePhase> phases;
      int64_t rest = at;
      for (size_t axis = conv_.strides.size(); axis-- > 0; rest /= conv_.strides[axis])
        phases.insert(phases.begin(),
                      *FindPhase(conv_, axis, rest % conv_.strides[axis], Extent(axis)));
      ASSIGN_OR_RETURN(const ir::ValueId part, AddPhase(editor, node, phases, count == 1, id));
      parts.push_back(part);
    }
    if (count > 1) Interleave(editor, node, id, parts);
    return OkStatus();
  }

 private:
  bool Refuse(std::string_view why) {
    why_ = why;
    return false;
  }

  bool IsTwoValued() const {
    if (const TwoValued* two = analysis_.Find(node_.inputs[0])) return two->low() != two->high();
    const ir::NodeId producer = analysis_.ProducerOf(node_.inputs[0]);
    return producer >= 0 && graph_.node(producer).op == "Sign"_op;
  }

  int64_t Extent(size_t axis) const { return input_[static_cast<int>(axis) + 2]; }
  int64_t Outputs() const { return weights_.shape()[1] * conv_.group; }
  int64_t PhaseCount() const {
    return std::accumulate(conv_.strides.begin(), conv_.strides.end(), int64_t{1},
                           std::multiplies<>());
  }

  bool PhasesFit() {
    for (size_t axis = 0; axis < conv_.strides.size(); ++axis) {
      if (conv_.output[axis] % conv_.strides[axis] != 0)
        return Refuse("its output is not a multiple of its strides");
      for (int64_t phase = 0; phase < conv_.strides[axis]; ++phase) {
        if (!FindPhase(conv_, axis, phase, Extent(axis)))
          return Refuse("some outputs have no taps, or inputs are cropped");
      }
    }
    return true;
  }

  /// Of output o of group g, by its input channel and taps.
  int64_t WeightAt(int64_t group, int64_t channel, int64_t output) const {
    const Shape& shape = weights_.shape();
    const int64_t taps = shape.Count(2, shape.rank());
    return ((group * (shape[0] / conv_.group) + channel) * shape[1] + output) * taps;
  }

  bool WeightsAreTwoValued() {
    const Shape& shape = weights_.shape();
    const int64_t taps = shape.Count(2, shape.rank());
    for (int64_t o = 0; o < Outputs(); ++o) {
      std::set<float> values;
      for (int64_t c = 0; c < shape[0] / conv_.group; ++c) {
        const float* w = weights_.as<float>().data() + WeightAt(o / shape[1], c, o % shape[1]);
        for (int64_t t = 0; t < taps && values.size() <= 2; ++t) values.insert(w[t]);
      }
      if (values.size() > 2) return Refuse("its weights have more than two values");
    }
    return true;
  }

  /// Weights of a phase, [outputs, channels of a group, taps...].
  Result<Constant> WeightsOf(const std::vector<StridePhase>& phases) const {
    const Shape& shape = weights_.shape();
    Dims dims = {Outputs(), shape[0] / conv_.group};
    for (const StridePhase& phase : phases) dims.push_back(std::ssize(phase.taps));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kF32, Shape(dims)));
    const int64_t taps = tensor.elements() / dims[0] / dims[1];
    float* out = tensor.as<float>().data();
    for (int64_t o = 0; o < dims[0]; ++o) {
      for (int64_t c = 0; c < dims[1]; ++c) {
        const float* w = weights_.as<float>().data() + WeightAt(o / shape[1], c, o % shape[1]);
        for (int64_t t = 0; t < taps; ++t) *out++ = w[TapAt(phases, t)];
      }
    }
    return Constant::FromTensor(tensor);
  }

  /// Where the t-th tap of a phase lies among all taps.
  int64_t TapAt(const std::vector<StridePhase>& phases, int64_t t) const {
    int64_t at = 0, unit = 1;
    for (size_t axis = phases.size(); axis-- > 0;) {
      const auto count = std::ssize(phases[axis].taps);
      at += phases[axis].taps[t % count] * unit;
      t /= count;
      unit *= conv_.kernel[axis];
    }
    return at;
  }

  Result<ir::ValueId> AddPhase(Editor& editor, const ir::Node& node,
                               const std::vector<StridePhase>& phases, bool is_all,
                               ir::NodeId id) const {
    ASSIGN_OR_RETURN(Constant weights, WeightsOf(phases));
    std::vector<int64_t> pads, ends, dilations, kernel;
    for (const StridePhase& phase : phases) {
      pads.push_back(phase.pad_begin);
      ends.push_back(phase.pad_end);
      dilations.push_back(phase.dilation);
      kernel.push_back(std::ssize(phase.taps));
    }
    pads.insert(pads.end(), ends.begin(), ends.end());
    std::vector<ir::ValueId> inputs = {node.inputs[0], editor.AddConstant(std::move(weights))};
    if (node.input(2) != ir::kAbsent) inputs.push_back(node.input(2));
    ir::Attributes attributes = {
        {"pads", pads}, {"dilations", dilations}, {"kernel_shape", kernel}, {"group", conv_.group}};
    if (is_all) return editor.node(editor.Replace(id, "Conv"_op, inputs, attributes)).outputs[0];
    const ir::ValueId part = editor.Add(node, "Conv"_op, inputs, attributes);
    Dims dims = {input_[0], Outputs()};
    for (size_t axis = 0; axis < phases.size(); ++axis)
      dims.push_back(conv_.output[axis] / conv_.strides[axis]);
    editor.SetType(part, DType::kF32, Shape(dims));
    return part;
  }

  /// [n, phases * c, m...] to [n, c, m * stride...].
  void Interleave(Editor& editor, const ir::Node& node, ir::NodeId id,
                  const std::vector<ir::ValueId>& parts) const {
    const size_t rank = conv_.strides.size();
    const ir::ValueId all = editor.Add(node, "Concat"_op, parts, {{"axis", int64_t{1}}});
    std::vector<int64_t> split = {input_[0]}, order = {0, static_cast<int64_t>(rank) + 1};
    split.insert(split.end(), conv_.strides.begin(), conv_.strides.end());
    split.push_back(Outputs());
    std::vector<int64_t> joined = {input_[0], Outputs()};
    for (size_t axis = 0; axis < rank; ++axis) {
      split.push_back(conv_.output[axis] / conv_.strides[axis]);
      joined.push_back(conv_.output[axis]);
      order.push_back(static_cast<int64_t>(rank + 2 + axis));
      order.push_back(static_cast<int64_t>(axis) + 1);
    }
    const ir::ValueId apart =
        editor.Add(node, "Reshape"_op, {all, editor.AddConstant(IntsConstant(split))});
    const ir::ValueId moved = editor.Add(node, "Transpose"_op, {apart}, {{"perm", order}});
    editor.Replace(id, "Reshape"_op, {moved, editor.AddConstant(IntsConstant(joined))});
  }

  const ir::Graph& graph_;
  const TwoValuedAnalysis& analysis_;
  const ir::Node node_;
  std::string& why_;
  ops::ConvTransposeAttributes conv_;
  Shape input_;
  Tensor weights_;
};

}  // namespace

Result<bool> SplitTransposed(ir::Graph& graph) {
  if (!HasOp(graph, {"ConvTranspose"_op})) return false;
  Editor editor(graph);
  const TwoValuedAnalysis analysis(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead || editor.node(id).op != "ConvTranspose"_op) continue;
    std::string why;
    TransposedSplitter splitter(graph, analysis, id, why);
    if (splitter.Read()) RETURN_IF_ERROR(splitter.Split(editor, id));
  }
  return editor.Finish();
}

std::string WhyNotSplit(const ir::Graph& graph, const TwoValuedAnalysis& analysis, ir::NodeId id) {
  std::string why;
  return TransposedSplitter(graph, analysis, id, why).Read()
             ? "it is split when the model is loaded"
             : why;
}

}  // namespace fettle::passes
