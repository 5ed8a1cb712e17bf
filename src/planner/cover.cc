#include "planner/cover.h"

#include <algorithm>
#include <optional>

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
  return fmt::format("{} compute other operators, {} want what the device or --precision lacks",
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

/// The largest of `groups` (largest first, free ones alone) that the preferred device has a kernel
/// for, or else any device; its choices are empty where there is none.
GroupChoices BestGroup(const ir::Graph& graph, const std::vector<const passes::Group*>& groups,
                       const DeviceSet& devices, const Limits& limits) {
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

}  // namespace

Result<Cover> GreedyCover(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits) {
  // Before anything is measured an accelerator that is not asked for is left alone.
  const DeviceSet used = limits.preferred == DeviceKind::kCpu ? DeviceSet(devices.cpu()) : devices;
  std::vector<passes::Group> groups = passes::ListGroups(graph);
  IdVector<ir::NodeId, std::vector<const passes::Group*>> by_node(graph.nodes().size());
  for (const passes::Group& group : groups) {
    if (limits.reference_only && group.nodes.size() > 1) continue;
    for (ir::NodeId node : group.nodes) by_node[node].push_back(&group);
  }
  Cover cover;
  std::vector<Status> failures;
  IdVector<ir::NodeId, bool> covered(graph.nodes().size());
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    if (covered[n]) continue;
    std::erase_if(by_node[n], [&](const passes::Group* group) {
      return std::any_of(group->nodes.begin(), group->nodes.end(),
                         [&](ir::NodeId id) { return covered[id]; });
    });
    std::stable_sort(by_node[n].begin(), by_node[n].end(),
                     [](const passes::Group* a, const passes::Group* b) {
                       return a->nodes.size() > b->nodes.size();
                     });
    GroupChoices best = BestGroup(graph, by_node[n], used, limits);
    if (best.choices.empty()) {
      failures.push_back(NoChoice(graph.nodes()[n], best));
      continue;
    }
    if (limits.preferred != best.choices[0].kernel->device())
      Log(LogLevel::kInfo, "{}: computed by {}: {}", ir::Describe(graph.nodes()[n]),
          best.choices[0].kernel->device() == DeviceKind::kCpu
              ? "the CPU"
              : DeviceKindName(best.choices[0].kernel->device()),
          Reasons(best, limits.preferred));
    for (ir::NodeId id : best.nodes) covered[id] = true;
    cover.push_back(std::move(best));
  }
  if (!failures.empty()) return AllOf(failures);
  return cover;
}

}  // namespace fettle::planner
