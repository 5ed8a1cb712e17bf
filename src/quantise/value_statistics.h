// What calibration learns about the values of a network.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quantise/range.h"
#include "tensor/tensor.h"

namespace fettle::quantise {

/// Of one channel, which is an index of axis 1 (of a tensor of lower rank: all of it).
struct ChannelStatistics {
  float low = 0, high = 0;
  double sum = 0;
  int64_t count = 0;

  double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
  double magnitude() const;
};

/// Of one value over all samples. Values that are not finite are only counted.
struct ValueStatistics {
  std::vector<ChannelStatistics> channels;
  int64_t nonfinite = 0;
  int rank = 0;
  Histogram histogram;

  /// Over all channels.
  Range range() const;
  /// Adds a tensor of f32 to the channels. A value has one number of channels in all samples;
  /// where another comes it has one channel from then on.
  void Observe(const Tensor& tensor);
  /// Adds it to the histogram, which has to cover range().
  void Count(const Tensor& tensor) { histogram.Add(tensor.as<float>()); }
};

/// By the value's name.
using Statistics = std::map<std::string, ValueStatistics, std::less<>>;

}  // namespace fettle::quantise
