#include "planner/cover.h"

#include <algorithm>
#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/log.h"

namespace fettle::planner {

namespace {

/// Whether a kernel says that it computes other operators.
bool IsOfOtherOperators(std::string_view reason) {
  return reason.starts_with("computes ") && reason.find(" only") != std::string_view::npos;
}

/// Whether the device or the precision keeps a kernel out, whatever the node is.
bool IsOfTheDevice(std::string_view reason) {
  return reason.starts_with("the device is not known to have") ||
         reason.starts_with("computes in ");
}

/// "kernel: reason; ..." of the kernels, or of a device's alone, that compute such a node, and how
/// many there are of other operators.
std::string Reasons(const GroupChoices& choices, std::optional<DeviceKind> device = {}) {
  constexpr size_t kMostShown = 1;
  std::string reasons;
  size_t near = 0, others = 0, of_device = 0;
  for (const Rejection& rejection : choices.rejected) {
    if (device && FindKernel(rejection.kernel)->device() != *device) continue;
    if (IsOfOtherOperators(rejection.reason)) {
      ++others;
    } else if (IsOfTheDevice(rejection.reason)) {
      ++of_device;
    } else if (++near <= kMostShown) {
      reasons +=
          fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", rejection.kernel, rejection.reason);
    }
  }
  if (near > kMostShown) reasons += fmt::format("; and {} more kernels", near - kMostShown);
  if (near > 0) return reasons;
  if (others + of_device == 0) return "there is none";
  if (of_device == 0) return fmt::format("all {} compute other operators", others);
  return fmt::format("{} compute other operators, {} need what the device or --precision lacks",
                     others, of_device);
}

}  // namespace

Status NoChoice(const ir::Node& node, const GroupChoices& choices) {
  if (!choices.fits.ok()) return choices.fits.WithContext(ir::Describe(node));
  return Unsupported("{}: no kernel computes it: {}", ir::Describe(node), Reasons(choices));
}

namespace {

/// Of a group what may be taken before anything is measured.
GroupChoices UnmeasuredChoices(const ir::Graph& graph, const passes::Group& group,
                               const DeviceSet& devices, const Limits& limits) {
  GroupChoices choices = ListChoices(graph, group, devices, limits);
  std::erase_if(choices.choices,
                [](const Choice& choice) { return choice.taste == kernels::kOnlyMeasured; });
  return choices;
}

bool SameAttributes(const ir::Node& a, const ir::Node& b) {
  const auto &left = a.attributes.items(), &right = b.attributes.items();
  return std::ranges::equal(left, right, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.index() == y.second.index() &&
           std::visit(
               [&]<typename T>(const T& value) {
                 if constexpr (std::same_as<T, Constant>)
                   return false;
                 else
                   return value == std::get<T>(y.second);
               },
               x.second);
  });
}

/// What was taken for single nodes, for others that differ by the values they read and write alone:
/// long chains and unrolled loops repeat a few, and asking all kernels is most of planning them.
class KnownNodes {
 public:
  KnownNodes(const ir::Graph& graph, const Cover& cover) : graph_(graph), cover_(cover) {}

  /// As `id` is computed; nothing where it is like none before.
  std::optional<GroupChoices> Find(ir::NodeId id) const {
    const auto at = places_.find(Key(id));
    if (at == places_.end()) return std::nullopt;
    for (const size_t place : at->second) {
      const GroupChoices& known = cover_[place];
      if (!Same(id, known.nodes[0])) continue;
      return GroupChoices{.nodes = {id},
                          .fragment = passes::ExtractGroup(graph_, {.nodes = {id}}),
                          .choices = known.choices,
                          .differ_in_layouts = known.differ_in_layouts,
                          .rejected = {},
                          .fits = known.fits};
    }
    return std::nullopt;
  }

  /// The last of the cover is one to find.
  void AddLast() {
    constexpr size_t kMostAlike = 4;
    const GroupChoices& last = cover_.back();
    if (last.nodes.size() > 1) return;
    std::vector<size_t>& places = places_[Key(last.nodes[0])];
    if (places.size() < kMostAlike) places.push_back(cover_.size() - 1);
  }

 private:
  using NodeKind = std::pair<std::string_view, ir::ValueId>;

  bool IsConstant(ir::ValueId id) const {
    return id != ir::kAbsent && graph_.value(id).is_constant();
  }

  /// The operator, and the first constant that it reads.
  NodeKind Key(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    const auto first =
        std::ranges::find_if(node.inputs, [&](ir::ValueId input) { return IsConstant(input); });
    return {node.op->name, first == node.inputs.end() ? ir::kAbsent : *first};
  }

  bool SameValue(ir::ValueId a, ir::ValueId b) const {
    if (a == ir::kAbsent || b == ir::kAbsent || IsConstant(a) || IsConstant(b)) return a == b;
    const ir::Value &left = graph_.value(a), &right = graph_.value(b);
    return left.dtype == right.dtype && left.shape == right.shape;
  }

  bool SameValues(const std::vector<ir::ValueId>& a, const std::vector<ir::ValueId>& b) const {
    if (!std::ranges::equal(a, b, [&](ir::ValueId x, ir::ValueId y) { return SameValue(x, y); }))
      return false;
    constexpr size_t kMostCompared = 16;
    if (a.size() > kMostCompared) return false;
    // Each is the same as another of them in both or in neither.
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        if ((a[i] == a[k]) != (b[i] == b[k])) return false;
    return true;
  }

  bool Same(ir::NodeId a, ir::NodeId b) const {
    const ir::Node &left = graph_.node(a), &right = graph_.node(b);
    return left.op == right.op && SameValues(left.inputs, right.inputs) &&
           SameValues(left.outputs, right.outputs) && SameAttributes(left, right);
  }

  const ir::Graph& graph_;
  const Cover& cover_;
  std::map<NodeKind, std::vector<size_t>> places_;
};

/// The largest of `groups` (largest first, free ones alone) that the preferred device has a kernel
/// for, or else any device; its choices are empty where there is none.
GroupChoices BestGroup(const ir::Graph& graph, const std::vector<const passes::Group*>& groups,
                       const DeviceSet& devices, const Limits& limits, const KnownNodes& known) {
  if (limits.preferred != DeviceKind::kCpu) {
    // What others could do is of no interest where the preferred device can.
    const DeviceSet preferred(devices.cpu(), devices.Find(limits.preferred));
    Limits alone = limits;
    alone.accelerator_only = true;
    for (const passes::Group* group : groups) {
      GroupChoices choices = UnmeasuredChoices(graph, *group, preferred, alone);
      if (!choices.choices.empty()) return choices;
    }
  }
  GroupChoices best;
  for (const passes::Group* group : groups) {
    // On other devices it matters who refused.
    if (group->nodes.size() == 1 && limits.preferred == DeviceKind::kCpu)
      if (std::optional<GroupChoices> same = known.Find(group->nodes[0])) return *std::move(same);
    best = UnmeasuredChoices(graph, *group, devices, limits);
    if (!best.choices.empty()) break;
  }
  return best;
}

/// One failure as it is; of several a line for each, the first ones.
Status AllOf(const std::vector<Status>& failures) {
  constexpr size_t kMostLines = 20;
  if (failures.size() == 1) return failures[0];
  for (const Status& failure : failures)
    if (failure.code() == StatusCode::kOutOfMemory) return failure;
  std::string lines;
  for (size_t i = 0; i < std::min(kMostLines, failures.size()); ++i)
    lines += "\n  " + failures[i].message();
  if (failures.size() > kMostLines)
    lines += fmt::format("\n  and {} more", failures.size() - kMostLines);
  return Unsupported("{} nodes are computed by no kernel:{}", failures.size(), lines);
}

/// Makes a cover, largest groups first, from the first node on.
class Coverer {
 public:
  Coverer(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits)
      : graph_(graph),
        devices_(devices),
        limits_(limits),
        groups_(passes::ListGroups(graph)),
        by_node_(graph.nodes().size()),
        covered_(graph.nodes().size()) {
    for (const passes::Group& group : groups_) {
      if (limits.reference_only && group.nodes.size() > 1) continue;
      for (ir::NodeId node : group.nodes) by_node_[node].push_back(&group);
    }
  }

  Result<Cover> Run() {
    if (limits_.preferred == DeviceKind::kCpu) TakeAttention();
    std::vector<Status> failures;
    for (ir::NodeId id : graph_.nodes().ids()) {
      if (covered_[id]) continue;
      GroupChoices best = BestGroup(graph_, FreeGroupsOf(id), devices_, limits_, known_);
      if (best.choices.empty())
        failures.push_back(NoChoice(graph_.node(id), best));
      else
        Take(id, std::move(best));
    }
    if (!failures.empty()) return AllOf(failures);
    return std::move(cover_);
  }

 private:
  /// Attention before the groups that begin before it, which would take one of its many nodes from
  /// it: scores need not be stored then. On accelerators it would take nodes from groups of views,
  /// each of which spares many launches.
  void TakeAttention() {
    for (ir::NodeId id : graph_.nodes().ids()) {
      if (graph_.node(id).op != "Softmax"_op) continue;
      std::vector<const passes::Group*> groups = FreeGroupsOf(id);
      std::erase_if(groups,
                    [](const passes::Group* group) { return group->pattern != "attention"; });
      if (groups.empty()) continue;
      GroupChoices best = BestGroup(graph_, groups, devices_, limits_, known_);
      if (!best.choices.empty()) Take(id, std::move(best));
    }
  }

  /// Those of which no node is covered, the largest first.
  const std::vector<const passes::Group*>& FreeGroupsOf(ir::NodeId id) {
    std::vector<const passes::Group*>& groups = by_node_[id];
    std::erase_if(groups, [&](const passes::Group* group) {
      return std::ranges::any_of(group->nodes, [&](ir::NodeId node) { return covered_[node]; });
    });
    std::ranges::stable_sort(groups, std::greater<>(),
                             [](const passes::Group* group) { return group->nodes.size(); });
    return groups;
  }

  void Take(ir::NodeId id, GroupChoices best) {
    const DeviceKind device = best.choices[0].kernel->device();
    if (limits_.preferred != device)
      Log(LogLevel::kInfo, "{}: computed by {}: {}", ir::Describe(graph_.node(id)),
          device == DeviceKind::kCpu ? "the CPU" : DeviceKindName(device),
          Reasons(best, limits_.preferred));
    for (ir::NodeId node : best.nodes) covered_[node] = true;
    cover_.push_back(std::move(best));
    known_.AddLast();
  }

  const ir::Graph& graph_;
  const DeviceSet& devices_;
  const Limits& limits_;
  std::vector<passes::Group> groups_;
  IdVector<ir::NodeId, std::vector<const passes::Group*>> by_node_;
  IdVector<ir::NodeId, bool> covered_;
  Cover cover_;
  KnownNodes known_{graph_, cover_};
};

}  // namespace

Result<Cover> GreedyCover(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits) {
  // Before anything is measured an accelerator that is not asked for is left alone.
  const DeviceSet used = limits.preferred == DeviceKind::kCpu ? DeviceSet(devices.cpu()) : devices;
  return Coverer(graph, used, limits).Run();
}

}  // namespace fettle::planner
