#include "language/onnx/length_probe.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/clean/fold_node.h"

namespace fettle::language {
namespace {

/// Between a cache and the product that reads it, or this and its softmax.
constexpr int kMostEvaluated = 32;
constexpr int64_t kMostElements = int64_t{1} << 26;

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
                                      int64_t fresh, const ProbedParts* parts) {
  LengthProbe probe(graph, past, fresh);
  RETURN_IF_ERROR(probe.SetInputs(form));
  if (parts != nullptr) {
    for (const auto& [score, dtype] : parts->scores) {
      probe.graph_.value(score).dtype = dtype;
      probe.graph_.value(score).shape = Shape{1, 1, fresh, probe.all()};
    }
    RETURN_IF_ERROR(probe.Spread(probe.Needed(*parts)));
    return probe;
  }
  IdVector<ir::NodeId, bool> every(graph.nodes().size());
  for (ir::NodeId id : graph.nodes().ids()) every[id] = true;
  RETURN_IF_ERROR(probe.Spread(every));
  return probe;
}

IdVector<ir::NodeId, bool> LengthProbe::Needed(const ProbedParts& parts) const {
  IdVector<ir::NodeId, bool> needed(graph_.nodes().size());
  std::vector<bool> seen(graph_.values().size());
  for (const auto& [score, dtype] : parts.scores) seen[score] = true;
  std::vector<ir::ValueId> open = parts.wanted;
  while (!open.empty()) {
    const ir::ValueId value = open.back();
    open.pop_back();
    if (value == ir::kAbsent || seen[value]) continue;
    seen[value] = true;
    if (producers_[value] < 0) continue;
    needed[producers_[value]] = true;
    const ir::Node& node = graph_.node(producers_[value]);
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return needed;
}

Status LengthProbe::SetInputs(const OnnxForm& form) {
  RETURN_IF_ERROR(FixInts(graph_, form.mask, Shape{1, all()}, 1, 0));
  RETURN_IF_ERROR(FixInts(graph_, form.positions, Shape{1, fresh_}, past_, 1));
  graph_.value(*graph_.FindValue(form.ids.name)).shape = Shape{1, fresh_};
  for (const OnnxCacheForm& cache : form.caches)
    graph_.value(*graph_.FindValue(cache.past)).shape = Shape{1, cache.heads, past_, cache.size};
  return FixInts(graph_, form.kept_logits, Shape{}, 0, 0);
}

Status LengthProbe::Spread(const IdVector<ir::NodeId, bool>& needed) {
  for (ir::NodeId at : graph_.nodes().ids()) {
    const ir::Node& node = graph_.node(at);
    if (!needed[at] || passes::FoldShape(graph_, node)) continue;
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
  const std::optional<Shape>& shape = value(to).shape;
  if (node.op->Has(ir::Trait::kControl) || node.outputs.size() != 1 || !shape ||
      !shape->IsConcrete() || shape->elements() > kMostElements)
    return std::nullopt;
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
