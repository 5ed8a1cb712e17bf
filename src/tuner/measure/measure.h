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

  /// Why nothing more can be measured: the candidate that Run or RunConversion measured last made
  /// its device unusable. Its row is kCrashed for good.
  const Status& lost() const;

  /// How long Run is expected to take where one launch takes about `us`.
  Effort Guess(const Candidate& candidate, double us) const;

  /// Measures candidates for one group in equal states on equal threads against each other, best
  /// guess (the default) first: in rounds, so that a change of the clock affects all alike. A
  /// candidate that is slower than the leader with confidence stops early. One row for each; Pick
  /// names the winner. With `known` rows from before for all of them only the last rounds run;
  /// empty: there are none.
  std::vector<Row> Race(std::span<const Candidate> candidates, std::span<const Row> known = {});

  /// Measures candidates for one group side by side, in any states and each on its own number of
  /// threads, all of the CPU. Times from different moments are of different machine states: the
  /// rows are the `known` ones at the speed of the first, with the ratios of now.
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
