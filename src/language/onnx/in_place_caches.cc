#include "language/onnx/in_place_caches.h"

#include <algorithm>

#include "language/onnx/growing_attention.h"
#include "language/onnx/joined_tables.h"
#include "language/onnx/length_values.h"
#include "ops/op.h"
#include "passes/clean/dead_code.h"
#include "passes/pipeline.h"

namespace fettle::language {
namespace {

/// Tokens before a run, and its own: no two sums are equal, no extents of neighbours.
constexpr std::pair<int64_t, int64_t> kLengths[] = {{3, 5}, {11, 2}, {0, 7}};
/// For models that read one token at a time behind others.
constexpr std::pair<int64_t, int64_t> kSingleLengths[] = {{0, 7}, {11, 1}, {3, 1}};

/// Masks of as many tokens are computed at load.
constexpr int64_t kLongestContext = int64_t{1} << 20;

/// Folds what follows from constants, and leaves out what does nothing, so that fewer forms are
/// left.
Status Tidy(ir::Graph& graph) {
  constexpr std::string_view kChosen[] = {"identities", "dead_code", "safe_softmax"};
  RETURN_IF_ERROR(graph.Normalise());
  std::vector<std::optional<Shape>> declared;
  for (ir::ValueId id : graph.outputs) declared.push_back(graph.value(id).shape);
  passes::PipelineOptions options;
  for (const passes::Pass& pass : passes::Passes())
    options.chosen.push_back(std::ranges::find(kChosen, pass.name) != std::end(kChosen));
  RETURN_IF_ERROR(passes::SweepAll(graph, options).status());
  RETURN_IF_ERROR(JoinTables(graph));
  RETURN_IF_ERROR(passes::SweepAll(graph, options).status());
  RETURN_IF_ERROR(passes::RunPasses(graph, options));
  RETURN_IF_ERROR(passes::RemoveDeadCode(graph).status());
  for (size_t i = 0; i < declared.size(); ++i) graph.value(graph.outputs[i]).shape = declared[i];
  return OkStatus();
}

class CacheKeeper {
 public:
  CacheKeeper(ir::Graph graph, OnnxForm form, int64_t context)
      : graph_(std::move(graph)), form_(std::move(form)), context_(context) {}

  Result<bool> Run() {
    if (!TakeCacheBranch()) return false;
    RETURN_IF_ERROR(Tidy(graph_));
    std::vector<LengthProbe> probes = Probe(kLengths, 2);
    if (probes.empty()) probes = Probe(kSingleLengths, 1);
    if (probes.empty()) return false;  // running it says why
    ASSIGN_OR_RETURN(const auto found, FindGrowingAttention(graph_, form_, probes, context_));
    if (!found) return false;
    ASSIGN_OR_RETURN(const bool follows, Follow(*found, probes));
    if (!follows) return false;
    producers_ = graph_.Producers();
    AddLast();
    for (const GrowingAttention& attention : *found) Replace(attention);
    DropInput(form_.mask.name);
    form_.mask = {};
    RETURN_IF_ERROR(graph_.Normalise());
    RETURN_IF_ERROR(passes::RemoveDeadCode(graph_).status());
    form_.in_place = true;
    return HasOneShape();
  }

  ir::Graph TakeGraph() { return std::move(graph_); }
  OnnxForm TakeForm() { return std::move(form_); }

 private:
  /// Of those lengths, and some up to the context; empty where one fails.
  std::vector<LengthProbe> Probe(std::span<const std::pair<int64_t, int64_t>> few, int64_t rows) {
    std::vector<std::pair<int64_t, int64_t>> lengths(few.begin(), few.end());
    // What changes with the number of tokens has changed at the end.
    if (context_ >= 8) lengths.insert(lengths.end(), {{context_ / 2, rows}, {context_ - 2, rows}});
    std::vector<LengthProbe> probes;
    for (const auto& [past, fresh] : lengths) {
      auto probe = LengthProbe::Make(graph_, form_, past, fresh);
      if (!probe.ok()) return {};
      probes.push_back(std::move(*probe));
    }
    return probes;
  }

  /// Whether what is left needs no mask.
  Result<bool> Follow(const std::vector<GrowingAttention>& found,
                      std::span<const LengthProbe> probes) {
    std::vector<ir::ValueId> needed, results;
    for (ir::ValueId id : graph_.outputs) {
      const bool is_cache = std::ranges::any_of(form_.caches, [&](const OnnxCacheForm& cache) {
        return graph_.value(id).name == cache.present;
      });
      if (!is_cache) needed.push_back(id);
    }
    for (const GrowingAttention& attention : found) {
      needed.insert(needed.end(), {attention.queries, attention.keys, attention.values});
      results.push_back(attention.result);
    }
    return FollowPositions(graph_, form_, probes, needed, results);
  }

  /// Whether shapes follow from the number of new tokens.
  bool HasOneShape() const {
    ir::Graph graph = graph_;
    OnnxForm form = form_;
    if (!form.positions.name.empty())
      graph.value(*graph.FindValue(form.positions.name)).shape = Shape{1, 2};
    form.positions = {};
    const auto probe = LengthProbe::Make(graph, form, context_, 2);
    return probe.ok() && std::ranges::all_of(graph.nodes(), [&](const ir::Node& node) {
             return std::ranges::all_of(node.outputs, [&](ir::ValueId id) {
               return id == ir::kAbsent || probe->value(id).has_concrete_shape();
             });
           });
  }

  /// The branch that reads a cache, of no tokens at first.
  bool TakeCacheBranch() {
    if (form_.cache_branch.empty()) return true;
    auto flag = Tensor::Create(DType::kBool, Shape{1});
    if (!flag.ok()) return false;
    *flag->data() = std::byte{1};
    const ir::ValueId input = *graph_.FindValue(form_.cache_branch);
    graph_.value(input).shape = Shape{1};
    graph_.value(input).constant = std::make_shared<const Constant>(Constant::FromTensor(*flag));
    std::erase(graph_.inputs, input);
    form_.cache_branch.clear();
    return true;
  }

  void AddLast() {
    form_.last = {"fettle.last", DType::kI32};
    last_ = graph_.AddValue(
        {.name = form_.last.name, .dtype = DType::kI32, .shape = Shape{1}, .symbols = {}});
    graph_.inputs.push_back(last_);
    total_ = AddInts(graph_, {context_});
  }

  ir::ValueId Packed(ir::ValueId value, bool is_packed) {
    if (is_packed) return value;
    const ir::ValueId rows =
        AddNode(graph_, "Transpose", {value}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    return AddNode(graph_, "Reshape", {rows, AddInts(graph_, {0, 0, -1})});
  }

  /// Lets a new node write `value`, and nobody else.
  void LetWrite(ir::NodeId node, size_t output, ir::ValueId value) {
    if (const ir::NodeId at = producers_[value]; at >= 0)
      std::ranges::replace(graph_.node(at).outputs, value, ir::kAbsent);
    graph_.node(node).outputs[output] = value;
  }

  void Replace(const GrowingAttention& a) {
    if (a.grouped >= 0) {
      graph_.node(a.grouped).inputs[5] = last_;
      graph_.node(a.grouped).inputs[6] = total_;
      return;
    }
    const OnnxCacheForm &keys = form_.caches[a.key_cache], &values = form_.caches[a.value_cache];
    ir::Attributes attributes = {
        {"num_heads", a.heads}, {"kv_num_heads", keys.heads}, {"scale", a.scale}};
    if (a.softcap != 0) attributes.Set("softcap", a.softcap);
    if (a.window > 0) attributes.Set("local_window_size", a.window);
    const ir::ValueId rows =
        AddNode(graph_, "GroupQueryAttention",
                {Packed(a.queries, a.packed_queries), Packed(a.keys, a.packed_keys),
                 Packed(a.values, a.packed_keys), *graph_.FindValue(keys.past),
                 *graph_.FindValue(values.past), last_, total_},
                std::move(attributes));
    const auto attention = static_cast<ir::NodeId>(graph_.nodes().size() - 1);
    graph_.node(attention).outputs.resize(3, ir::kAbsent);
    LetWrite(attention, 1, *graph_.FindValue(keys.present));
    LetWrite(attention, 2, *graph_.FindValue(values.present));
    if (a.packed_queries) return LetWrite(attention, 0, a.result);
    const ir::ValueId split =
        AddNode(graph_, "Reshape", {rows, AddInts(graph_, {0, 0, a.heads, values.size})});
    AddNode(graph_, "Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    LetWrite(static_cast<ir::NodeId>(graph_.nodes().size() - 1), 0, a.result);
  }

  void DropInput(const std::string& name) {
    if (name.empty()) return;
    std::erase(graph_.inputs, *graph_.FindValue(name));
  }

  ir::Graph graph_;
  OnnxForm form_;
  int64_t context_;
  IdVector<ir::ValueId, ir::NodeId> producers_;  // before attentions are replaced
  ir::ValueId last_ = ir::kAbsent, total_ = ir::kAbsent;
};

}  // namespace

Status KeepCachesInPlace(ir::Graph& graph, OnnxForm& form, int64_t context) {
  if (form.in_place || context > kLongestContext) return OkStatus();
  CacheKeeper keeper(graph, form, context);
  ASSIGN_OR_RETURN(const bool kept, keeper.Run());
  if (!kept) return OkStatus();
  graph = keeper.TakeGraph();
  form = keeper.TakeForm();
  return OkStatus();
}

}  // namespace fettle::language
