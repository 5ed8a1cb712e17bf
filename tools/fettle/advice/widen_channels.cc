#include <algorithm>

#include "advice/channel_group.h"
#include "advice/rules.h"

namespace fettle::tools {
namespace {

/// How much wider is still worth a try.
constexpr double kMostWider = 1.35;

/// What new channels hold: noise where they are written; zeros where they are read and added, so
/// that they leave no trace; ones where they are scaled.
Growth::Fill FillOf(ChannelRole role, bool is_depthwise) {
  switch (role) {
    case ChannelRole::kWriter: return Growth::Fill::kNoise;
    case ChannelRole::kScale: return is_depthwise ? Growth::Fill::kNoise : Growth::Fill::kOne;
    case ChannelRole::kVariance: return Growth::Fill::kOne;
    default: return Growth::Fill::kZero;
  }
}

/// The change to `size` channels.
Change Widen(const ChannelGroup& group, int64_t size) {
  Change change{.rule = "channels",
                .text = fmt::format("{} channels instead of {}", size, group.channels()),
                .where = *group.values().begin(),
                .nodes = group.nodes(),
                .same_function = true};
  for (const auto& [operand, axes] : group.constants())
    for (const auto& [axis, role] : axes)
      change.growths[operand][axis] = {size,
                                       FillOf(role, group.depthwise().contains(operand.first))};
  for (size_t node : group.depthwise()) change.edits[node].attributes["group"] = size;
  return change;
}

}  // namespace

Status WidenChannels(Subject& subject, std::vector<Change>& changes) {
  for (const ChannelGroup& group : ListChannelGroups(subject)) {
    const int64_t channels = group.channels();
    std::set<int64_t> sizes;
    for (int64_t multiple : kChannelMultiples)
      sizes.insert((channels + multiple - 1) / multiple * multiple);
    for (int64_t size : sizes)
      if (size > channels &&
          static_cast<double>(size) <= kMostWider * static_cast<double>(channels))
        changes.push_back(Widen(group, size));
  }
  return OkStatus();
}

}  // namespace fettle::tools
