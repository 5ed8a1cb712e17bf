#include "language/onnx/length_values.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "ops/op.h"
#include "passes/edit/constants.h"

namespace fettle::language {
namespace {

using Elements = std::function<int64_t(const LengthProbe&, int64_t)>;

class PositionFollower {
 public:
  PositionFollower(ir::Graph& graph, OnnxForm& form, std::span<const LengthProbe> probes)
      : graph_(graph), form_(form), probes_(probes), probed_(graph.values().size()) {}

  bool Run(std::span<const ir::ValueId> outputs, std::span<const ir::ValueId> given) {
    MarkTainted(given);
    std::vector<ir::ValueId> open(outputs.begin(), outputs.end());
    std::vector<bool> seen(graph_.values().size());
    const auto producers = graph_.Producers();
    while (!open.empty()) {
      const ir::ValueId value = open.back();
      open.pop_back();
      if (value == ir::kAbsent || !IsTainted(value) || seen[value]) continue;
      seen[value] = true;
      if (const ir::ValueId other = Substitute(value); other != ir::kAbsent) {
        substitutes_.emplace(value, other);
        continue;
      }
      if (producers[value] < 0) return false;
      const ir::Node& node = graph_.node(producers[value]);
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
    Replace();
    return true;
  }

 private:
  bool IsTainted(ir::ValueId id) const { return id < std::ssize(tainted_) && tainted_[id]; }

  /// What depends on the mask, on extents of caches, or on values of either.
  void MarkTainted(std::span<const ir::ValueId> given) {
    tainted_.assign(graph_.values().size(), false);
    std::vector<bool> is_given(graph_.values().size());
    for (ir::ValueId id : given) is_given[id] = true;
    const auto mark = [&](const std::string& name) {
      if (name.empty()) return;
      if (const auto id = graph_.FindValue(name)) tainted_[*id] = true;
    };
    mark(form_.mask.name);
    for (const OnnxCacheForm& cache : form_.caches) {
      mark(cache.past);
      mark(cache.present);
    }
    for (const ir::Node& node : graph_.nodes()) {
      if (node.dead) continue;
      const bool any = std::ranges::any_of(
          node.inputs, [&](ir::ValueId id) { return id != ir::kAbsent && tainted_[id]; });
      for (ir::ValueId id : node.outputs)
        if (any && id != ir::kAbsent && !is_given[id]) tainted_[id] = true;
    }
  }

  /// Whether the value holds those elements in all probes.
  bool Holds(ir::ValueId id, const Elements& elements) const {
    return std::ranges::all_of(probes_, [&](const LengthProbe& probe) {
      const Constant* known = probe.Known(id);
      for (int64_t i = 0; i < known->elements(); ++i)
        if (known->GetInt(i) != elements(probe, i)) return false;
      return true;
    });
  }
  bool HaveElements(ir::ValueId id, const Elements& count) const {
    return std::ranges::all_of(probes_, [&](const LengthProbe& probe) {
      return probe.Known(id)->elements() == count(probe, 0);
    });
  }

  /// The same as `id`, from positions and tokens; kAbsent where that is not known.
  ir::ValueId Substitute(ir::ValueId id) {
    if (static_cast<size_t>(id) >= probed_) return ir::kAbsent;
    for (const LengthProbe& probe : probes_)
      if (probe.Known(id) == nullptr) return ir::kAbsent;
    if (const ir::ValueId constant = AsConstant(id); constant != ir::kAbsent) return constant;
    if (!IsInteger(probes_[0].value(id).dtype)) return ir::kAbsent;
    const auto one = [](const LengthProbe&, int64_t) { return 1; };
    const auto fresh = [](const LengthProbe& p, int64_t) { return p.fresh(); };
    if (HaveElements(id, fresh) &&
        Holds(id, [](const LengthProbe& p, int64_t i) { return p.past() + i; }))
      return Shaped(Positions(), id);
    if (!HaveElements(id, one)) return ir::kAbsent;
    if (Holds(id, [](const LengthProbe& p, int64_t) { return p.past(); }))
      return Shaped(First(), id);
    if (Holds(id, fresh)) return Shaped(Fresh(), id);
    if (Holds(id, [](const LengthProbe& p, int64_t) { return p.all(); })) return Shaped(All(), id);
    return ir::kAbsent;
  }

  /// Where it is the same in all probes.
  ir::ValueId AsConstant(ir::ValueId id) {
    const Constant* first = probes_[0].Known(id);
    for (const LengthProbe& probe : probes_) {
      const Constant* known = probe.Known(id);
      if (known->shape() != first->shape() || known->Hash() != first->Hash()) return ir::kAbsent;
    }
    return graph_.AddConstant("", *first);
  }

  /// i64 [1, fresh].
  ir::ValueId Positions() {
    constexpr const char* kName = "fettle.positions";
    if (form_.positions.name.empty()) {
      form_.positions = {kName, DType::kI64};
      graph_.inputs.push_back(graph_.AddValue(
          {.name = kName, .dtype = DType::kI64, .shape = Shape{1, -1}, .symbols = {}}));
    }
    const ir::ValueId input = *graph_.FindValue(form_.positions.name);
    return form_.positions.dtype == DType::kI64
               ? input
               : AddNode(graph_, "Cast", {input}, {{"to", std::string("i64")}});
  }
  ir::ValueId First() {
    return AddNode(graph_, "Slice",
                   {Positions(), AddInts(graph_, {0}), AddInts(graph_, {1}), AddInts(graph_, {1})});
  }
  /// i64 [1]: of a prompt that is read in several runs, all of it, as if it were read in one.
  ir::ValueId All() {
    constexpr const char* kName = "fettle.all";
    if (form_.all.name.empty()) {
      form_.all = {kName, DType::kI64};
      graph_.inputs.push_back(
          graph_.AddValue({.name = kName, .dtype = DType::kI64, .shape = Shape{1}, .symbols = {}}));
    }
    return *graph_.FindValue(kName);
  }
  ir::ValueId Fresh() {
    return AddNode(graph_, "Shape", {*graph_.FindValue(form_.ids.name)}, {{"start", int64_t{1}}});
  }

  /// In the type and shape of `id`, of which one extent may be that of the new tokens.
  ir::ValueId Shaped(ir::ValueId from, ir::ValueId id) {
    const ir::Value &a = probes_[0].value(id), &b = probes_[1].value(id);
    std::vector<int64_t> extents;
    for (int axis = 0; axis < a.shape->rank(); ++axis)
      extents.push_back((*a.shape)[axis] == (*b.shape)[axis] ? (*a.shape)[axis] : -1);
    const ir::ValueId shaped = AddNode(graph_, "Reshape", {from, AddInts(graph_, extents)});
    if (a.dtype == DType::kI64) return shaped;
    return AddNode(graph_, "Cast", {shaped}, {{"to", std::string(DTypeName(a.dtype))}});
  }

  void Replace() {
    for (ir::NodeId at : graph_.nodes().ids()) {
      for (ir::ValueId& input : graph_.node(at).inputs) {
        const auto found = substitutes_.find(input);
        if (found != substitutes_.end()) input = found->second;
      }
    }
  }

  ir::Graph& graph_;
  OnnxForm& form_;
  std::span<const LengthProbe> probes_;
  size_t probed_;  // values that probes know
  std::vector<bool> tainted_;
  std::unordered_map<ir::ValueId, ir::ValueId> substitutes_;
};

}  // namespace

ir::ValueId AddNode(ir::Graph& graph, std::string_view op, std::vector<ir::ValueId> inputs,
                    ir::Attributes attributes) {
  ir::Node node;
  node.op = &ops::Get(op);
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  node.outputs = {graph.AddValue({})};
  graph.AddNode(node);
  return node.outputs[0];
}

ir::ValueId AddInts(ir::Graph& graph, const std::vector<int64_t>& values) {
  return graph.AddConstant("", passes::IntsConstant(values));
}

Result<bool> FollowPositions(ir::Graph& graph, OnnxForm& form, std::span<const LengthProbe> probes,
                             std::span<const ir::ValueId> outputs,
                             std::span<const ir::ValueId> given) {
  return PositionFollower(graph, form, probes).Run(outputs, given);
}

}  // namespace fettle::language
