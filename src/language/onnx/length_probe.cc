#include "language/onnx/length_probe.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/clean/fold_node.h"

namespace fettle::language {
namespace {

/// Between a cache and the product that reads it, or this and its softmax.
constexpr int kMostEvaluated = 32;

Status FixInts(ir::Graph& graph, const OnnxInts& ints, const Shape& shape, int64_t first,
               int64_t step) {
  if (ints.name.empty()) return OkStatus();
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(ints.dtype, shape));
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.view().SetInt(i, first + i * step);
  ir::Value& value = graph.value(*graph.FindValue(ints.name));
  value.shape = shape;
  value.constant = std::make_shared<const Constant>(Constant::FromTensor(tensor));
  return OkStatus();
}

}  // namespace

LengthProbe::LengthProbe(const ir::Graph& graph, int64_t past, int64_t fresh)
    : graph_(graph), producers_(graph.Producers()), past_(past), fresh_(fresh) {}

Result<LengthProbe> LengthProbe::Make(const ir::Graph& graph, const OnnxForm& form, int64_t past,
                                      int64_t fresh) {
  LengthProbe probe(graph, past, fresh);
  RETURN_IF_ERROR(probe.SetInputs(form));
  RETURN_IF_ERROR(probe.Spread());
  return probe;
}

Status LengthProbe::SetInputs(const OnnxForm& form) {
  RETURN_IF_ERROR(FixInts(graph_, form.mask, Shape{1, all()}, 1, 0));
  RETURN_IF_ERROR(FixInts(graph_, form.positions, Shape{1, fresh_}, past_, 1));
  graph_.value(*graph_.FindValue(form.ids.name)).shape = Shape{1, fresh_};
  for (const OnnxCacheForm& cache : form.caches)
    graph_.value(*graph_.FindValue(cache.past)).shape = Shape{1, cache.heads, past_, cache.size};
  return FixInts(graph_, form.kept_logits, Shape{}, 0, 0);
}

Status LengthProbe::Spread() {
  for (const ir::Node& node : graph_.nodes()) {
    if (passes::FoldShape(graph_, node)) continue;
    const auto is_known = [&](ir::ValueId id, bool data) {
      const ir::Value* value = id == ir::kAbsent ? nullptr : &graph_.value(id);
      return value == nullptr ||
             (data ? value->is_constant()
                   : value->has_concrete_shape() && value->dtype != DType::kUndefined);
    };
    for (ir::ValueId id : node.outputs)
      if (id != ir::kAbsent && !is_known(id, true)) graph_.value(id).shape.reset();
    if (node.op->Has(ir::Trait::kControl) ||
        !std::ranges::all_of(node.inputs, [&](ir::ValueId id) { return is_known(id, false); }))
      continue;
    ASSIGN_OR_RETURN(const ops::Inferred inferred, ops::Infer(graph_, node));
    if (inferred.needed_input >= 0) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == ir::kAbsent) continue;
      graph_.value(node.outputs[i]).dtype = inferred.outputs[i].dtype;
      graph_.value(node.outputs[i]).shape = inferred.outputs[i].shape;
    }
    if (std::ranges::all_of(node.inputs, [&](ir::ValueId id) { return is_known(id, true); }))
      passes::FoldData(graph_, node, inferred);
  }
  return OkStatus();
}

std::optional<Tensor> LengthProbe::Evaluate(ir::ValueId to, ir::ValueId from,
                                            const Tensor& given) const {
  int left = kMostEvaluated;
  return Compute(to, from, given, left);
}

std::optional<Tensor> LengthProbe::Compute(ir::ValueId to, ir::ValueId from, const Tensor& given,
                                           int& left) const {
  if (to == from) return given;
  if (to == ir::kAbsent) return Tensor();
  if (const Constant* known = Known(to)) {
    Result<Tensor> tensor = known->ToTensor();
    return tensor.ok() ? std::optional(std::move(*tensor)) : std::nullopt;
  }
  if (producers_[to] < 0 || --left < 0) return std::nullopt;
  const ir::Node& node = graph_.node(producers_[to]);
  if (node.op->Has(ir::Trait::kControl) || node.outputs.size() != 1) return std::nullopt;
  std::vector<Tensor> inputs;
  for (ir::ValueId id : node.inputs) {
    std::optional<Tensor> input = Compute(id, from, given, left);
    if (!input) return std::nullopt;
    inputs.push_back(std::move(*input));
  }
  Result<std::vector<Tensor>> made = ops::Evaluate(node, inputs);
  return made.ok() ? std::optional(std::move((*made)[0])) : std::nullopt;
}

}  // namespace fettle::language
