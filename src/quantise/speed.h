// Finds the layers that are faster in integers than in fp32, by races of whole networks on their
// device.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quantise/layer.h"

namespace fettle::quantise {

/// What inferences of one network take.
struct RunTimes {
  double ms = 0;  // of an inference, the median
  /// Of its steps in ms, medians, by the nodes that each computes (names joined by '+').
  std::map<std::string, double, std::less<>> steps;
};

/// Two networks whose inferences ran in turns.
struct RaceTimes {
  RunTimes plain, quantised;
  double ratio = 1;  // of quantised over plain, the median of neighbouring runs
};

/// Runs a ModelProto in turns with the network in fp32. Fails as runtime::Session::Run does.
using Race = std::function<Result<RaceTimes>(const std::string& bytes)>;

/// What one layer takes, in ms; nothing where no step names it.
struct LayerTimes {
  std::optional<double> plain, quantised;

  /// What integers add; 0 where one of the times is not known.
  double loss() const { return plain && quantised ? *quantised - *plain : 0; }
};

/// The times of all layers from a race of `network` and `bytes`, which was written from it. A step
/// that computes several layers counts in equal parts.
Result<std::vector<LayerTimes>> TimesOfLayers(const Network& network,
                                              const std::vector<Layer>& layers,
                                              const std::string& bytes, const RaceTimes& race);

/// How long networks with these layers in integers take, as a share of fp32.
struct Timed {
  std::vector<bool> quantised;
  double ratio = 1;
  /// Raced twice, or not picked as the luckiest of many.
  bool sure = false;
};

/// The network with `all.quantised` and with fewer: without the layers that lose most by
/// themselves, in a few steps, and last with none. `times` has a ratio of any of them but the first
/// and the last.
Result<std::vector<Timed>> RaceFewer(
    const Timed& all, const std::vector<LayerTimes>& layers,
    const std::function<Result<double>(const std::vector<bool>& quantised, double share)>& times);

/// The first of `tried` that is about as fast as the fastest: it keeps most layers in integers.
size_t FastEnough(const std::vector<Timed>& tried);

}  // namespace fettle::quantise
