#include "planner/catalogue.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "kernels/cost_text.h"
#include "planner/cover.h"
#include "planner/small_steps.h"

namespace fettle::planner {
namespace {

/// Zero points and other bytes decide what a kernel accepts, though texts leave long ones out.
constexpr int64_t kMaxZeroPoints = 4096;
/// Elements that are looked at to tell weights of more than two values from others.
constexpr int64_t kLooked = 64;

bool IsZeroPoint(const ir::Value& value) {
  return StorageBytes(value.dtype, 1) == 1 && value.shape->rank() <= 1 &&
         value.shape->elements() <= kMaxZeroPoints;
}

/// Whether at most two values are among the first elements that lie `step` apart.
bool StartsWithTwoValues(const Constant& constant, int64_t step) {
  double first = 0, other = 0;
  int values = 0;
  for (int64_t i = 0; i < kLooked && i * step < constant.elements(); ++i) {
    const double value = constant.GetDouble(i * step);
    if ((values > 0 && value == first) || (values > 1 && value == other)) continue;
    if (++values > 2) return false;
    (values == 1 ? first : other) = value;
  }
  return true;
}

/// Whether some output's weights may have two values or fewer: an output's lie next to each other,
/// or as far apart as the last axis is long.
bool MayHaveTwoValues(const ir::Value& value) {
  const int64_t bytes = StorageBytes(value.dtype, 1);
  if (value.shape->rank() < 2 || value.shape->elements() == 0) return false;
  if (value.dtype != DType::kF32 && bytes != 1) return false;
  const Constant& constant = *value.constant;
  return StartsWithTwoValues(constant, 1) ||
         StartsWithTwoValues(constant, (*value.shape)[value.shape->rank() - 1]);
}

/// The text, and the contents of those constants that decide which kernels apply: zero points, and
/// weights that kernels of bits may take.
std::string KindKey(const std::string& text, const ir::Graph& group) {
  std::string key = text;
  for (const ir::Value& value : group.values()) {
    if (!value.is_constant()) continue;
    if (IsZeroPoint(value)) {
      std::vector<std::byte> bytes(value.constant->elements());
      value.constant->CopyTo(0, value.constant->elements(), bytes.data());
      key += fmt::format(" {:016x}", HashBytes(bytes));
    } else if (value.constant->is_splat()) {
      key += " splat";
    } else if (MayHaveTwoValues(value)) {
      key += fmt::format(" {:016x}", value.constant->Hash());
    }
  }
  return key;
}

class Lister {
 public:
  Lister(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits)
      : graph_(graph), devices_(devices), limits_(limits) {}

  Result<Catalogue> Run() {
    std::vector<bool> has_entry(graph_.nodes().size());
    for (const passes::Group& group : passes::ListGroups(graph_)) {
      const int kind = Add(group);
      if (group.nodes.size() == 1) has_entry[group.nodes[0]] = kind >= 0;
    }
    for (size_t n = 0; n < has_entry.size(); ++n) {
      if (has_entry[n]) continue;
      const passes::Group single{.nodes = {static_cast<ir::NodeId>(n)}};
      Limits references = limits_;
      references.reference_only = true;
      GroupChoices choices = ListChoices(graph_, single, devices_, references);
      if (choices.choices.empty()) return NoChoice(graph_.nodes()[n], choices);
      const auto others = refused_.find(TextOf(choices.fragment));
      if (others != refused_.end()) choices.rejected = others->second;
      AddKind(choices, single);
    }
    return std::move(catalogue_);
  }

 private:
  /// The kind of `group`; -1 where nothing but a reference computes it.
  int Add(const passes::Group& group) {
    const passes::Fragment fragment = passes::ExtractGroup(graph_, group);
    const std::string text = TextOf(fragment);
    const auto known = kind_of_.find(text);
    if (known != kind_of_.end()) {
      if (known->second >= 0)
        catalogue_.instances.push_back(
            {group.nodes, known->second, fragment.inputs, fragment.outputs});
      return known->second;
    }
    GroupChoices choices = ListChoices(graph_, group, devices_, limits_);
    DropReferences(choices, group);
    const int kind = choices.choices.empty() ? -1 : AddKind(choices, group);
    if (kind < 0) refused_.emplace(text, std::move(choices.rejected));
    kind_of_.emplace(text, kind);
    return kind;
  }

  static std::string TextOf(const passes::Fragment& fragment) {
    return KindKey(kernels::PrintCosts(*fragment.graph), *fragment.graph);
  }

  /// References stay for single nodes that the CPU has no other kernel for, though an accelerator
  /// may have one: it may fail its checks.
  static void DropReferences(GroupChoices& choices, const passes::Group& group) {
    const auto is_reference = [](const Choice& choice) { return choice.kernel->is_reference(); };
    const auto on_cpu = [&](const Choice& choice) {
      return !is_reference(choice) && choice.kernel->device() == DeviceKind::kCpu;
    };
    const bool only_references =
        std::all_of(choices.choices.begin(), choices.choices.end(), is_reference);
    if (only_references || group.nodes.size() > 1 ||
        std::any_of(choices.choices.begin(), choices.choices.end(), on_cpu))
      std::erase_if(choices.choices, is_reference);
  }

  int AddKind(const GroupChoices& choices, const passes::Group& group) {
    Kind kind;
    kind.group = choices.fragment.graph;
    kind.text = kernels::PrintCosts(*kind.group);
    kind.rejected = choices.rejected;
    for (const Choice& choice : choices.choices) AddEntries(choice, kind);
    const auto index = static_cast<int>(catalogue_.kinds.size());
    catalogue_.instances.push_back(
        {group.nodes, index, choices.fragment.inputs, choices.fragment.outputs});
    catalogue_.kinds.push_back(std::move(kind));
    return index;
  }

  void AddEntries(const Choice& choice, Kind& kind) const {
    Entry entry{.kernel = choice.kernel,
                .match = choice.match,
                .states_index = choice.states_index,
                .states = choice.states(),
                .threads = limits_.threads};
    entry.is_view = !kind.group->inputs.empty() && entry.match->is_view(entry.states_index);
    if (entry.is_view) {
      entry.params = entry.match->params(entry.states_index, entry.threads).usual;
      kind.entries.push_back(std::move(entry));
      return;
    }
    const auto on_all = static_cast<int>(kind.entries.size());
    for (int threads : ThreadCounts(choice, kind)) {
      entry.threads = threads;
      entry.params = entry.match->params(entry.states_index, threads).usual;
      entry.change = fmt::format("{} {}", entry.kernel->name, threads);
      entry.base = threads == limits_.threads ? -1 : on_all;
      kind.entries.push_back(entry);
    }
  }

  /// All threads first; of the CPU also what plans made without measuring take, and one.
  std::vector<int> ThreadCounts(const Choice& choice, const Kind& kind) const {
    std::vector<int> counts = {limits_.threads};
    if (choice.kernel->device() != DeviceKind::kCpu) return counts;
    for (int count : {ThreadsWorthWaking(choice, kind.group, limits_.threads), 1})
      if (count < counts.back()) counts.push_back(count);
    return counts;
  }

  const ir::Graph& graph_;
  const DeviceSet& devices_;
  Limits limits_;
  Catalogue catalogue_;
  std::unordered_map<std::string, int> kind_of_;
  std::unordered_map<std::string, std::vector<Rejection>> refused_;  // of kinds that are -1
};

}  // namespace

Result<Catalogue> ListCatalogue(const ir::Graph& graph, const DeviceSet& devices,
                                const Limits& limits) {
  return Lister(graph, devices, limits).Run();
}

}  // namespace fettle::planner
