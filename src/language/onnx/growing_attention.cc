#include "language/onnx/growing_attention.h"

#include <algorithm>
#include <map>

#include "language/onnx/attention_match.h"
#include "ops/op.h"
#include "passes/edit/constants.h"
#include "passes/graph_index.h"

namespace fettle::language {
namespace {

constexpr int kMostSteps = 24;

class GrowingFinder {
 public:
  GrowingFinder(const ir::Graph& graph, const OnnxForm& form, std::span<const LengthProbe> probes)
      : graph_(graph), index_(graph), form_(form), probes_(probes) {
    for (const OnnxCacheForm& cache : form.caches) {
      pasts_.push_back(*graph.FindValue(cache.past));
      presents_.push_back(*graph.FindValue(cache.present));
    }
  }

  /// Those whose structure fits; empty where a cache is left over.
  std::vector<AttentionMatch> List() {
    std::vector<AttentionMatch> all;
    std::vector<int> used(form_.caches.size());
    for (ir::NodeId id : graph_.nodes().ids()) {
      std::optional<AttentionMatch> found;
      if (graph_.node(id).op == "Softmax"_op) found = Spelled(id);
      if (graph_.node(id).op == "Attention"_op) found = Whole(id);
      if (graph_.node(id).op == "GroupQueryAttention"_op) found = Grouped(id);
      if (!found) continue;
      ++used[found->attention.key_cache];
      ++used[found->attention.value_cache];
      all.push_back(*std::move(found));
    }
    if (!std::ranges::all_of(used, [](int count) { return count == 1; })) all.clear();
    return all;
  }

 private:
  const ir::Node* Maker(ir::ValueId id) const {
    const ir::NodeId at = index_.Maker(id);
    return at < 0 ? nullptr : &graph_.node(at);
  }
  bool IsKnown(ir::ValueId id) const {
    return id == ir::kAbsent || probes_[0].Known(id) != nullptr;
  }
  std::optional<double> Number(ir::ValueId id) const {
    const Constant* known = id == ir::kAbsent ? nullptr : probes_[0].Known(id);
    return known == nullptr ? std::nullopt : passes::UniformValue(*known);
  }
  /// The one operand that tokens decide; kAbsent where several or none do.
  ir::ValueId OnlyOpen(const ir::Node& node) const {
    ir::ValueId open = ir::kAbsent;
    for (ir::ValueId input : node.inputs) {
      if (IsKnown(input) || input == open) continue;
      if (open != ir::kAbsent) return ir::kAbsent;
      open = input;
    }
    return open;
  }
  /// The factor of a Mul or Div by a number; 0: it is none.
  double Factor(const ir::Node& node) const {
    if (node.op == "Mul"_op)
      return Number(node.inputs[IsKnown(node.inputs[0]) ? 0 : 1]).value_or(0);
    const double by = node.op == "Div"_op ? Number(node.inputs[1]).value_or(0) : 0;
    return by == 0 ? 0 : 1 / by;
  }

  /// Which present `value` is made of, by moves and scales.
  std::optional<size_t> CacheBehind(ir::ValueId value) const {
    for (int i = 0; i < kMostSteps && value != ir::kAbsent; ++i) {
      const auto at = std::ranges::find(presents_, value);
      if (at != presents_.end()) return at - presents_.begin();
      const ir::Node* node = Maker(value);
      if (node == nullptr ||
          !(node->op->Has(ir::Trait::kMovesElements) || node->op->Has(ir::Trait::kElementwise)))
        return std::nullopt;
      value = OnlyOpen(*node);
    }
    return std::nullopt;
  }

  /// What is joined to the past as `cache` gives it out: new rows; kAbsent where something else is.
  ir::ValueId NewRows(size_t cache) const {
    const ir::Node* node = Maker(presents_[cache]);
    if (node == nullptr || node->op != "Concat"_op || node->inputs.size() != 2 ||
        node->inputs[0] != pasts_[cache])
      return ir::kAbsent;
    const int64_t axis = node->attributes.Int("axis", 0);
    return axis == 2 || axis == -2 ? node->inputs[1] : ir::kAbsent;
  }

  bool SetCaches(AttentionMatch& found, ir::ValueId columns, ir::ValueId rows) const {
    const auto keys = CacheBehind(columns), values = CacheBehind(rows);
    if (!keys || !values || *keys == *values) return false;
    GrowingAttention& a = found.attention;
    a.key_cache = *keys;
    a.value_cache = *values;
    found.read_keys = columns;
    found.read_values = rows;
    found.key_present = presents_[*keys];
    found.value_present = presents_[*values];
    a.keys = NewRows(*keys);
    a.values = NewRows(*values);
    return a.keys != ir::kAbsent && a.values != ir::kAbsent;
  }

  std::optional<AttentionMatch> Spelled(ir::NodeId softmax) const {
    AttentionMatch found;
    const ir::Node& node = graph_.node(softmax);
    const int64_t axis = node.attributes.Int("axis", -1);
    found.weighed = node.inputs[0];
    const ir::Node* scores = Scores(found);
    const ir::NodeId product = Product(node.outputs[0]);
    if ((axis != -1 && axis != 3) || scores == nullptr || product < 0) return std::nullopt;
    found.sums = scores->outputs[0];
    found.score_type = probes_[0].value(found.sums).dtype;
    found.attention.queries = scores->inputs[0];
    found.attention.result = graph_.node(product).outputs[0];
    if (!SetCaches(found, scores->inputs[1], graph_.node(product).inputs[1])) return std::nullopt;
    TakeQueryScale(found.attention);
    const std::optional<Shape>& shape = probes_[0].value(found.attention.queries).shape;
    if (!shape || shape->rank() != 4) return std::nullopt;
    found.attention.heads = (*shape)[1];
    return found;
  }

  /// The product before a softmax; says what stands between.
  const ir::Node* Scores(AttentionMatch& found) const {
    double inner = 1, outer = 1;  // of a Tanh between
    bool capped = false;
    ir::ValueId at = found.weighed;
    for (int i = 0; i < kMostSteps; ++i) {
      const ir::Node* node = Maker(at);
      if (node == nullptr) return nullptr;
      if (node->op == "MatMul"_op) {
        found.score_scale = capped ? inner * outer : outer;
        found.attention.softcap = capped ? outer : 0;
        found.attention.scale = found.score_scale;
        return node;
      }
      if (!node->op->Has(ir::Trait::kElementwise)) return nullptr;
      at = OnlyOpen(*node);
      if (const double factor = Factor(*node); factor != 0) {
        (capped ? inner : outer) *= factor;
        continue;
      }
      if (node->op == "Tanh"_op && capped) return nullptr;
      capped |= node->op == "Tanh"_op;
      for (ir::ValueId input : node->inputs)
        if (input != at) found.masks.push_back(input);
    }
    return nullptr;
  }

  /// The product that reads what a softmax gives, as it is.
  ir::NodeId Product(ir::ValueId weights) const {
    for (int i = 0; i < kMostSteps; ++i) {
      if (index_.Readers(weights).size() != 1 || index_.IsOutput(weights)) return -1;
      const ir::NodeId next = index_.Readers(weights)[0];
      const ir::Node& node = graph_.node(next);
      if (node.op == "MatMul"_op) return node.inputs[0] == weights ? next : -1;
      if (node.op != "Cast"_op && node.op != "Identity"_op) return -1;
      weights = node.outputs[0];
    }
    return -1;
  }

  void TakeQueryScale(GrowingAttention& a) const {
    const ir::Node* node = Maker(a.queries);
    const double factor = node == nullptr ? 0 : Factor(*node);
    if (factor == 0) return;
    a.scale *= factor;
    a.queries = OnlyOpen(*node);
  }

  std::optional<AttentionMatch> Whole(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    const std::optional<ops::AttentionShape> a = ReadAttentionOf(probes_[0], node);
    if (!a || node.output(3) != ir::kAbsent || node.input(6) != ir::kAbsent ||
        a->left_window >= 0 || a->right_window >= 0)
      return std::nullopt;
    AttentionMatch found;
    found.node = id;
    GrowingAttention& to = found.attention;
    to.queries = node.inputs[0];
    to.result = node.outputs[0];
    to.heads = a->q_heads;
    to.packed_queries = a->packed;
    to.scale = a->scale;
    to.softcap = a->softcap;
    if (node.input(3) != ir::kAbsent) found.masks.push_back(node.input(3));
    if (node.input(4) == ir::kAbsent) {
      if (a->causal || !SetCaches(found, node.inputs[1], node.inputs[2])) return std::nullopt;
      return found;
    }
    to.packed_keys = a->packed;
    return TakesCaches(node, 4, to) ? std::optional(found) : std::nullopt;
  }

  std::optional<AttentionMatch> Grouped(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    AttentionMatch found;
    found.node = found.attention.grouped = id;
    found.attention.queries = node.inputs[0];
    found.attention.result = node.outputs[0];
    if (node.input(7) != ir::kAbsent || node.input(9) != ir::kAbsent) return std::nullopt;
    return TakesCaches(node, 3, found.attention) ? std::optional(found) : std::nullopt;
  }

  /// Whether the node's inputs from `past` on are caches that it gives back.
  bool TakesCaches(const ir::Node& node, size_t past, GrowingAttention& to) const {
    const auto keys = std::ranges::find(pasts_, node.input(past));
    const auto values = std::ranges::find(pasts_, node.input(past + 1));
    if (keys == pasts_.end() || values == pasts_.end()) return false;
    to.key_cache = keys - pasts_.begin();
    to.value_cache = values - pasts_.begin();
    to.keys = node.inputs[1];
    to.values = node.inputs[2];
    return node.output(1) == presents_[to.key_cache] && node.output(2) == presents_[to.value_cache];
  }

  const ir::Graph& graph_;
  passes::GraphIndex index_;
  const OnnxForm& form_;
  std::span<const LengthProbe> probes_;
  std::vector<ir::ValueId> pasts_, presents_;
};

/// Windows of those whose masks are one, over probes that are made one at a time.
class WindowTaker {
 public:
  WindowTaker(const ir::Graph& graph, std::vector<AttentionMatch>& all)
      : graph_(graph), all_(all) {}

  /// `each`: of all, else of one for each mask.
  bool Take(const LengthProbe& probe, bool each) {
    return std::ranges::all_of(Distinct(each), [&](const AttentionMatch* match) {
      return SeesWindow(probe, graph_, *match, windows_[match->masks]);
    });
  }
  /// What Take of not each looks at.
  ProbedParts parts() const {
    ProbedParts parts;
    for (const AttentionMatch* match : Distinct(false)) AddParts(graph_, *match, parts);
    return parts;
  }
  void Finish() {
    for (AttentionMatch& found : all_) found.attention.window = windows_[found.masks].keys();
  }

 private:
  std::vector<const AttentionMatch*> Distinct(bool each) const {
    std::vector<const AttentionMatch*> kept;
    for (const AttentionMatch& match : all_) {
      const bool known = std::ranges::any_of(kept, [&](const AttentionMatch* other) {
        return !each && other->node < 0 && match.node < 0 && other->masks == match.masks;
      });
      if (!known) kept.push_back(&match);
    }
    return kept;
  }

  const ir::Graph& graph_;
  std::vector<AttentionMatch>& all_;
  std::map<std::vector<ir::ValueId>, SeenWindow> windows_;
};

}  // namespace

Result<std::optional<std::vector<GrowingAttention>>> FindGrowingAttention(
    const ir::Graph& graph, const OnnxForm& form, std::span<const LengthProbe> probes,
    int64_t context) {
  std::optional<std::vector<GrowingAttention>> none;
  std::vector<AttentionMatch> all = GrowingFinder(graph, form, probes).List();
  const auto reads = [&](AttentionMatch& match) { return ReadsCaches(probes, form, graph, match); };
  if (all.empty() || !std::ranges::all_of(all, reads)) return none;
  WindowTaker windows(graph, all);
  for (const LengthProbe& probe : probes)
    if (!windows.Take(probe, /*each=*/true)) return none;
  const bool several = std::ranges::any_of(
      probes, [](const LengthProbe& probe) { return probe.past() > 0 && probe.fresh() > 1; });
  const ProbedParts parts = windows.parts();
  for (int64_t past = 15; past < context;
       past = past == context - 2 ? context : std::min(2 * past + 1, context - 2)) {
    const auto probe = LengthProbe::Make(graph, form, past, several ? 2 : 1, &parts);
    if (!probe.ok() || !windows.Take(*probe, /*each=*/false)) return none;
  }
  windows.Finish();
  std::vector<GrowingAttention> attentions;
  for (const AttentionMatch& found : all) attentions.push_back(found.attention);
  return std::optional(std::move(attentions));
}

}  // namespace fettle::language
