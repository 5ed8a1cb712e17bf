// Measuring kernels and conversions: verified first, then timed by a fixed protocol.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "tuner/measure/allowance.h"
#include "tuner/measure/sampling.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {

/// Verifies and times. Times of all rows of a bench refer to the clock at which the sentinel ran
/// first, so that they can be added and compared. Not synchronised; needs the devices for itself.
class Bench {
 public:
  explicit Bench(const DeviceSet& devices, MeasureOptions options = {});
  ~Bench();

  /// kOk: a time. kWrong: its results differ from the oracle's, or it wrote where it may not;
  /// `reason` says where. kFailed: it could not be prepared or launched, or the oracle could not
  /// say what is right. kStopped: slower than `stop_above_us` with confidence; `low_us` holds, the
  /// median does not. Outputs that are views of inputs, or have no elements, cost 0.
  /// Where the deadline of the options passes, `samples` of a stopped row is 0: nothing is known.
  Row Run(const Candidate& candidate, double stop_above_us = kNoLimit);

  /// Why nothing more can be measured: what the last Run or RunConversion measured took its device
  /// with it. Its row is kCrashed, for good.
  const Status& lost() const;

  /// What Run is about to take where one launch takes about `us`.
  Effort Guess(const Candidate& candidate, double us) const;

  /// Runs candidates for one group in equal states on equal threads against each other, best guess
  /// (the default) first: in rounds, so that a change of the clock meets all alike. Those that are
  /// slower than the leader with confidence stop early. One row for each; Pick names the winner.
  /// `known` rows of all of them, measured before, spare everything but the last rounds; empty:
  /// there are none.
  std::vector<Row> Race(std::span<const Candidate> candidates, std::span<const Row> known = {});

  /// Runs candidates for one group side by side, in whatever states and on as many threads as each
  /// has, all of the CPU. What was measured at different times met different machines: the rows are
  /// those `known` of them, at the speed of the first, with the ratios of now.
  std::vector<Row> Rematch(std::span<const Candidate> candidates, std::span<const Row> known);

  /// The time of making a copy in state `to` of a tensor in state `from`.
  Row RunConversion(const Shape& shape, DType dtype, const State& from, const State& to,
                    int threads);
  Effort GuessConversion(const Shape& shape, const State& from, const State& to) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The index of the fastest row that is kOk; -1: none. The earliest of those that cannot be told
/// from the fastest (less than 2 standard errors and 1 % behind it), so list the safer one first.
int Pick(std::span<const Row> rows);

}  // namespace fettle::tuner
