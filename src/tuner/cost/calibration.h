// What steps take inside networks over what they take alone: neighbours leave other things in the
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

/// In the network over alone, with the interval that holds the factor of a class in 95 % of cases.
struct Calibration {
  double factor = 1, low = 1, high = 1;
  int runs = 0;  // steps that it was learned from
};

/// What is calibrated together.
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

/// What learning from a network came to: `kept` if anything was. The residuals are sums of
/// |measured - predicted| over the sum of measured times, of steps and runs that the factors were
/// not learned from, and of what steps teach others alone.
struct Lesson {
  bool kept = false;
  int steps = 0;
  double residual_before = 0, residual_after = 0;
};

/// The factor of steps of a class that take about as long, shrunk towards that of the class, that
/// towards its kernel's in all states, that towards all kernels' on as many threads, and that
/// towards 1, the more the fewer steps each has seen: a kernel that no network has run yet must not
/// look better than one whose factor is known, and what neighbours cost a step of 20 us says little
/// of one of 500. Kept in the store as rows of kernel and build, beside what is measured, which
/// they never change. Not synchronised.
class Calibrations {
 public:
  explicit Calibrations(Store& store) : store_(store) {}

  /// Of a step that takes `alone_us` alone; 0: whatever it takes. With its `problem` what this very
  /// step took counts most: for predictions of whole plans, not where costs choose, since whatever
  /// was chosen has had bad luck beside good by then, and its rivals have had neither.
  Calibration Of(const StepClass& of, double alone_us = 0, std::string_view problem = {});

  /// Adds what the samples say, and keeps it only where it makes the residual smaller: what steps
  /// teach others, learned from every other step in one half of the runs, judged by the remaining
  /// steps in the other half; and what a step teaches of itself, judged by the other half of its
  /// runs.
  Lesson Learn(std::span<const StepSample> samples);
  /// Learn in the place of what this object has taught so far.
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
