#include "quantise/value_statistics.h"

#include <algorithm>
#include <cmath>

namespace fettle::quantise {
namespace {

void Merge(const ChannelStatistics& from, ChannelStatistics& to) {
  if (from.count == 0) return;
  to.low = to.count == 0 ? from.low : std::min(to.low, from.low);
  to.high = to.count == 0 ? from.high : std::max(to.high, from.high);
  to.sum += from.sum;
  to.count += from.count;
}

/// Returns the number of values that are not finite.
int64_t AddTo(std::span<const float> values, ChannelStatistics& channel) {
  ChannelStatistics seen;
  for (float value : values) {
    if (!std::isfinite(value)) continue;
    seen.low = seen.count == 0 ? value : std::min(seen.low, value);
    seen.high = seen.count == 0 ? value : std::max(seen.high, value);
    seen.sum += value;
    ++seen.count;
  }
  Merge(seen, channel);
  return std::ssize(values) - seen.count;
}

}  // namespace

double ChannelStatistics::magnitude() const {
  return std::max(std::abs(static_cast<double>(low)), std::abs(static_cast<double>(high)));
}

Range ValueStatistics::range() const {
  ChannelStatistics all;
  for (const ChannelStatistics& channel : channels) Merge(channel, all);
  return {all.low, all.high};
}

void ValueStatistics::Observe(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  rank = shape.rank();
  const size_t count = rank > 1 ? shape[1] : 1;
  if (channels.empty()) channels.resize(std::max<size_t>(count, 1));
  if (channels.size() != count) {
    for (size_t c = 1; c < channels.size(); ++c) Merge(channels[c], channels[0]);
    channels.resize(1);
  }
  const std::span<const float> values = tensor.as<float>();
  const auto inner = static_cast<size_t>(rank > 1 ? shape.Count(2, rank) : values.size());
  for (size_t at = 0, c = 0; at < values.size() && inner > 0; at += inner, ++c)
    nonfinite += AddTo(values.subspan(at, inner), channels[c % channels.size()]);
}

}  // namespace fettle::quantise
