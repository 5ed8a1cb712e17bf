#include "planner/catalogue.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "kernels/cost_text.h"
#include "planner/cover.h"

namespace fettle::planner {
namespace {

constexpr size_t kNeighbours = 4;
constexpr size_t kMaxParams = 64;

/// Zero points and other bytes decide what a kernel accepts, though texts leave long ones out.
constexpr int64_t kMaxZeroPoints = 4096;

std::string KindKey(const std::string& text, const ir::Graph& group) {
  std::string key = text;
  for (const ir::Value& value : group.values()) {
    if (!value.is_constant() || StorageBytes(value.dtype, 1) != 1 || value.shape->rank() > 1 ||
        value.shape->elements() > kMaxZeroPoints) {
      continue;
    }
    std::vector<std::byte> bytes(value.constant->elements());
    value.constant->CopyTo(0, value.constant->elements(), bytes.data());
    key += fmt::format(" {:016x}", HashBytes(bytes));
  }
  return key;
}

/// The sets of parameters that count as choices, the default first.
class ParamsLister {
 public:
  explicit ParamsLister(kernels::ParamSpace space) : space_(std::move(space)) {
    found_.push_back(space_.usual);
  }

  std::vector<kernels::Params> Run(Breadth breadth) {
    if (breadth == Breadth::kNeighbours) AddNeighbours();
    if (breadth == Breadth::kAll) AddAll(found_[0], 0);
    return std::move(found_);
  }

 private:
  void Add(const kernels::Params& params) {
    if (found_.size() >= kMaxParams) return;
    if (space_.check && !space_.check(params).ok()) return;
    if (std::find(found_.begin(), found_.end(), params) == found_.end()) found_.push_back(params);
  }

  /// The values next to the default one, parameter by parameter, upwards first.
  void AddNeighbours() {
    for (int step : {1, -1}) {
      for (const kernels::Tunable& tunable : space_.tunables) {
        const auto now = found_[0].find(tunable.name);
        if (now == found_[0].end() || found_.size() > kNeighbours) continue;
        const auto& values = tunable.values;
        const auto at = std::lower_bound(values.begin(), values.end(), now->second);
        const auto next = at - values.begin() +
                          (step > 0 && at != values.end() && *at == now->second ? 1
                           : step > 0                                           ? 0
                                                                                : -1);
        if (next < 0 || next >= std::ssize(values)) continue;
        kernels::Params params = found_[0];
        params[tunable.name] = values[next];
        Add(params);
      }
    }
  }

  void AddAll(kernels::Params params, size_t depth) {
    if (depth == space_.tunables.size()) return Add(params);
    for (int64_t value : space_.tunables[depth].values) {
      params[space_.tunables[depth].name] = value;
      AddAll(params, depth + 1);
    }
  }

  kernels::ParamSpace space_;
  std::vector<kernels::Params> found_;
};

/// "tile+": the parameters that were changed, and which way.
std::string ChangeOf(const kernels::Params& params, const kernels::Params& from) {
  std::string text;
  for (const auto& [name, value] : params) {
    const auto before = from.find(name);
    if (before == from.end() || before->second == value) continue;
    text += fmt::format("{}{}", name, value > before->second ? '+' : '-');
  }
  return text;
}

class Lister {
 public:
  Lister(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits, Breadth breadth)
      : graph_(graph), devices_(devices), limits_(limits), breadth_(breadth) {}

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
      const GroupChoices choices = ListChoices(graph_, single, devices_, references);
      if (choices.choices.empty()) return NoChoice(graph_.nodes()[n], choices);
      AddKind(choices, single);
    }
    return std::move(catalogue_);
  }

 private:
  /// The kind of `group`; -1 where nothing but a reference computes it.
  int Add(const passes::Group& group) {
    const passes::Fragment fragment = passes::ExtractGroup(graph_, group);
    const std::string text = KindKey(kernels::PrintCosts(*fragment.graph), *fragment.graph);
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
    kind_of_.emplace(text, kind);
    return kind;
  }

  /// References stay for single nodes that the CPU has no other kernel for, though an accelerator
  /// may have one: it may fail its checks.
  static void DropReferences(GroupChoices& choices, const passes::Group& group) {
    const auto is_reference = [](const Choice& choice) { return choice.kernel->preference == 0; };
    const auto on_cpu = [&](const Choice& choice) {
      return !is_reference(choice) && choice.kernel->device == DeviceKind::kCpu;
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
    const bool on_cpu = choice.kernel->device == DeviceKind::kCpu;
    int on_all_threads = -1;
    for (int threads : {limits_.threads, 1}) {
      entry.threads = threads;
      const std::vector<kernels::Params> all =
          ParamsLister(entry.match->params(entry.states_index, threads)).Run(breadth_);
      const auto default_entry = static_cast<int>(kind.entries.size());
      for (const kernels::Params& params : all) {
        entry.params = params;
        entry.default_params = params == all[0];
        entry.base = entry.default_params ? on_all_threads : default_entry;
        entry.change = fmt::format("{} {} {}", entry.kernel->name, threads,
                                   entry.default_params ? "" : ChangeOf(params, all[0]));
        kind.entries.push_back(entry);
      }
      on_all_threads = default_entry;
      if (!on_cpu || threads == 1) break;
    }
  }

  const ir::Graph& graph_;
  const DeviceSet& devices_;
  Limits limits_;
  Breadth breadth_;
  Catalogue catalogue_;
  std::unordered_map<std::string, int> kind_of_;
};

}  // namespace

Result<Catalogue> ListCatalogue(const ir::Graph& graph, const DeviceSet& devices,
                                const Limits& limits, Breadth breadth) {
  return Lister(graph, devices, limits, breadth).Run();
}

}  // namespace fettle::planner
