// How near to their bounds kernels come: learned from devices that measured, used for devices that
// have not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/predict/step_facts.h"

namespace fettle::tuner {

/// Of logarithms of times over bounds: their median, the median distance from it, and what they
/// come from.
struct TimeLeaf {
  double median = 0, spread = 0;
  int rows = 0, devices = 0;
};

struct PredictedTime {
  double us = 0;
  /// Of the time in whole networks over that alone.
  double in_network = 1;
  /// The error of predictions of the kind, of the logarithm.
  double spread = 0;
  /// Of the kernel on such operators.
  int rows = 0, devices = 0;
  /// Whether those are of devices with the same instructions.
  bool alike = false;
};

/// A tree of medians. Its levels, each pulled towards the one above it the more the fewer rows it
/// has: the kind of the device; the ceiling that limits the kernel; the kernel, on one thread or
/// more; its main operators; all of them; those whose bound is about as long; the very same
/// problem; and the last five again, of devices with the same instructions.
class TimeModel {
 public:
  /// A level that a step belongs to, and by which share: sizes lie between two powers of 4.
  struct Level {
    std::string key;
    double share = 1;
  };
  /// From the top. The bound is microseconds, above 0.
  static std::vector<Level> LevelsOf(const StepFacts& facts, double bound_us);
  /// What the time of steps of a kernel is called in networks.
  static std::string NetworkKey(std::string_view kernel, int threads);

  /// How wrongly devices of these instructions predict each other: the median.
  static std::string AcrossKey(std::string_view instructions);

  /// Nothing where no device has measured the kernel on such operators.
  std::optional<PredictedTime> Predict(const StepFacts& facts, double bound_us) const;

  void Put(const std::string& key, const TimeLeaf& leaf) { leaves_[key] = leaf; }
  const std::map<std::string, TimeLeaf, std::less<>>& leaves() const { return leaves_; }
  /// Fingerprints of what it was learned from.
  void AddDevice(std::string_view fingerprint);
  const std::vector<std::string>& devices() const { return devices_; }

  std::string Print() const;
  /// Fails with kCorrupt where that is not what Print wrote.
  static Result<TimeModel> Parse(std::string_view text);

 private:
  std::map<std::string, TimeLeaf, std::less<>> leaves_;
  std::vector<std::string> devices_;
};

/// The model that a store keeps; kNotFound where nothing was learned.
Result<TimeModel> FindTimeModel(Store& store);
/// The key of the decision that it is kept as.
std::string_view TimeModelKey();

}  // namespace fettle::tuner
