// The time of steps inside networks over their time alone: neighbours leave other data in the
// caches, lanes are asleep, memory is shared. Learned from whole networks that ran, used for
// others.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "kernels/kernel.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// Time in the network over time alone, with the interval that holds a class's factor in 95 % of
/// cases.
struct Calibration {
  double factor = 1, low = 1, high = 1;
  int runs = 0;  // steps that it was learned from
};

/// Steps that are calibrated together.
struct StepClass {
  std::string kernel;
  int version = 1;
  std::string states;  // of all operands
  int threads = 1;
  std::string device;  // Device::fingerprint()
};

/// `kernel` for a group in `states` on `device`.
StepClass ClassOf(const kernels::KernelDesc& kernel, const ir::Graph& group,
                  const kernels::StateAssignment& states, int threads, const Device& device);
/// A conversion, whatever its tensor's extents.
StepClass ClassOf(int rank, const State& from, const State& to, int threads, const Device& device);

/// A step that ran in a network: its time alone (RowKey's), its mean times in two disjoint halves
/// of typical runs, in microseconds, and the text of what it computes.
struct StepSample {
  StepClass of;
  double alone_us = 0;
  double halves_us[2] = {};
  std::string problem;
};

/// The result of learning from a network: `kept` if anything was kept. The residuals are sums of
/// |measured - predicted| over the sum of measured times. They count steps and runs that the
/// factors were not learned from, and only what steps teach others.
struct Lesson {
  bool kept = false;
  int steps = 0;
  double residual_before = 0, residual_after = 0;
};

/// The factor of steps of a class that take about as long. It is shrunk towards the factor of the
/// class, that towards its kernel's in all states, that towards all kernels' on as many threads,
/// and that towards 1; the fewer steps a factor has seen, the more it is shrunk. So a kernel that
/// no network has run yet does not look better than one with a known factor, and a step of 20 us,
/// where neighbours cost much, says little about one of 500. Kept in the store as rows of kernel
/// and build, beside the measurements, which they never change. Not synchronised.
class Calibrations {
 public:
  explicit Calibrations(Store& store) : store_(store) {}

  /// The factor of a step that takes `alone_us` alone; 0: of any time. With `problem`, the times of
  /// this very step count most: for predictions of whole plans. Where costs choose, leave it out: a
  /// chosen step has by then had bad luck as well as good, and its rivals have had neither.
  Calibration Of(const StepClass& of, double alone_us = 0, std::string_view problem = {});

  /// Adds what the samples say, and keeps it only where it makes the residual smaller. What steps
  /// teach others is learned from every other step in one half of the runs, and judged by the
  /// remaining steps in the other half. What a step teaches about itself is judged by the other
  /// half of its runs.
  Lesson Learn(std::span<const StepSample> samples);
  /// Learn, instead of what this object has taught so far.
  Lesson LearnAnew(std::span<const StepSample> samples);

 private:
  /// Of logarithms of factors.
  struct Evidence {
    double mean = 0, deviation = 0;
    double steps = 0;
  };
  using Table = std::map<RowKey, Evidence>;
  struct Sums;

  void Put(const RowKey& key, const Evidence& evidence);
  const Evidence& Known(const RowKey& key);
  Evidence With(const RowKey& key, const Table& fresh);
  Calibration Factor(const StepClass& of, double alone_us, std::string_view problem,
                     const Table& fresh);
  enum class Reach { kOthers, kItself };
  static Table Summarise(std::span<const StepSample> samples, int fold, int half, Reach reach);
  Table LearnOfOthers(std::span<const StepSample> samples, double total, Lesson& lesson);
  void LearnOfItself(std::span<const StepSample> samples, Table& learned);
  double Residual(std::span<const StepSample> samples, int fold, int half, const Table& fresh);

  Store& store_;
  Table known_;   // what the store has
  Table before_;  // had of what this object has taught
};

}  // namespace fettle::tuner
