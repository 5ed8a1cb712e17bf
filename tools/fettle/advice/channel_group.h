// All places of a network that share their number of channels, found from one value.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "advice/change.h"

namespace fettle::tools {

/// Whole vectors and tiles of channels.
inline constexpr int64_t kChannelMultiples[] = {8, 16, 32, 64};

/// What a constant is to the channels that it has along an axis.
enum class ChannelRole { kWriter, kBias, kReader, kScale, kVariance, kShift };

/// The values that share their channels with one, and the constants that have them.
class ChannelGroup {
 public:
  /// The subject outlives the group.
  ChannelGroup(const Subject& subject, int64_t channels)
      : subject_(subject), network_(subject.network), channels_(channels) {}

  /// Finds them all from one value on. False where something has these channels whose number is
  /// fixed.
  bool Visit(std::string_view value);

  int64_t channels() const { return channels_; }
  const std::set<std::string, std::less<>>& values() const { return values_; }
  const std::set<size_t>& nodes() const { return nodes_; }
  /// Their `group` is the number of channels.
  const std::set<size_t>& depthwise() const { return depthwise_; }
  /// By operand and axis.
  const std::map<Operand, std::map<int, ChannelRole>>& constants() const { return constants_; }

 private:
  bool Has(size_t node, size_t input, int axis, ChannelRole role);
  bool HasBias(size_t node);
  bool IsDepthwise(const onnx::NodeRecord& node) const;
  bool Write(size_t node);
  bool Read(size_t node, std::string_view value);
  bool Depthwise(size_t node);
  bool Pass(size_t node);
  bool PassNormalisation(size_t node);
  bool PassOperand(size_t node, size_t input, int rank);
  std::optional<int> RankOf(std::string_view value) const;
  bool HasChannels(std::string_view value) const;
  bool IsOneChannel(std::string_view value) const;

  const Subject& subject_;
  const quantise::Network& network_;
  int64_t channels_;
  std::set<std::string, std::less<>> values_;
  std::map<Operand, std::map<int, ChannelRole>> constants_;
  std::set<size_t> nodes_, depthwise_, passed_;
};

/// The groups of a network's convolutions whose number of channels is not fixed, in file order.
std::vector<ChannelGroup> ListChannelGroups(const Subject& subject);

}  // namespace fettle::tools
