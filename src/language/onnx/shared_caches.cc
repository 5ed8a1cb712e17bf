#include "language/onnx/shared_caches.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/pipeline.h"

namespace fettle::language {
namespace {

class CacheSharer {
 public:
  CacheSharer(ir::Graph graph, OnnxForm form, int64_t context, int64_t count)
      : graph_(std::move(graph)), form_(std::move(form)), context_(context), count_(count) {}

  bool Run() {
    if (!form_.in_place || !form_.all.name.empty()) return false;
    form_.cache_of = {"fettle.caches", DType::kI32};
    const ir::ValueId cache_of = graph_.AddValue(
        {.name = form_.cache_of.name, .dtype = DType::kI32, .shape = Shape{-1}, .symbols = {}});
    graph_.inputs.push_back(cache_of);
    for (ir::NodeId id : graph_.nodes().ids()) {
      ir::Node& node = graph_.node(id);
      if (node.op != "GroupQueryAttention"_op) continue;
      if (node.input(9) != ir::kAbsent) return false;
      node.inputs.resize(10, ir::kAbsent);
      node.inputs[9] = cache_of;
    }
    OpenBatch();
    return TakesSeveral();
  }
  ir::Graph TakeGraph() { return std::move(graph_); }
  OnnxForm TakeForm() { return std::move(form_); }

 private:
  ir::Value* Find(const std::string& name) {
    const auto id = name.empty() ? std::nullopt : graph_.FindValue(name);
    return id ? &graph_.value(*id) : nullptr;
  }

  /// Inputs and outputs of any number of sequences; whether the graph takes them shows.
  void OpenBatch() {
    for (const OnnxInts* ints : {&form_.ids, &form_.mask, &form_.positions, &form_.last}) {
      ir::Value* const value = Find(ints->name);
      if (value == nullptr || !value->shape) continue;
      Dims dims = value->shape->dims();
      dims[0] = -1;
      value->shape = Shape(dims);
      value->symbols.clear();
    }
    for (const OnnxCacheForm& cache : form_.caches) {
      for (const std::string* name : {&cache.past, &cache.present}) {
        ir::Value* const value = Find(*name);
        value->shape = Shape{count_, cache.heads, context_, cache.size};
        value->symbols.clear();
      }
    }
    ir::Value* const logits = Find("logits");
    logits->shape = Shape{-1, (*logits->shape)[1], (*logits->shape)[2]};
    logits->symbols.clear();
  }

  /// Whether two sequences have a row of logits each, behind shapes that are known.
  bool TakesSeveral() const {
    ir::Graph graph = graph_;
    const auto set = [&](const OnnxInts& ints, const Shape& shape) {
      if (!ints.name.empty()) graph.value(*graph.FindValue(ints.name)).shape = shape;
    };
    set(form_.ids, Shape{2, 1});
    set(form_.mask, Shape{2, context_});
    set(form_.positions, Shape{2, 1});
    set(form_.last, Shape{2});
    set(form_.cache_of, Shape{2});
    set(form_.row, Shape{1});
    if (!passes::SweepAll(graph, {}).ok()) return false;
    const ir::Value& logits = graph.value(*graph.FindValue("logits"));
    return logits.shape == Shape{2, 1, form_.vocabulary};
  }

  ir::Graph graph_;
  OnnxForm form_;
  int64_t context_, count_;
};

}  // namespace

Status ShareCaches(ir::Graph& graph, OnnxForm& form, int64_t context, int64_t count) {
  CacheSharer sharer(graph, form, context, count);
  if (!sharer.Run()) return OkStatus();
  graph = sharer.TakeGraph();
  form = sharer.TakeForm();
  return OkStatus();
}

}  // namespace fettle::language
