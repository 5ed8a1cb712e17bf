// Inputs on which candidates are verified and timed, and the oracle's outputs for them.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/thread_pool.h"
#include "kernels/kernel.h"
#include "tensor/compare.h"
#include "tuner/measure/oracle.h"

namespace fettle::tuner {

struct ExpectationOptions {
  /// Multiply-adds, or steps like them (oracle_cost.h), up to which all elements are computed.
  int64_t whole_macs = 50'000'000;
  /// Elements beyond that, and of the extreme inputs.
  int64_t samples = 4096;
  int64_t extreme_samples = 512;
  uint64_t seed = 1;
};

/// How to fill one input.
struct Filling;

/// What one output has to be.
struct ExpectedOutput {
  Elements elements;
  std::vector<double> values;  // of those, one after the other
  Tolerance tolerance;         // for results stored in the value's own type
  double largest = 0;          // finite magnitude
  double sums = 0;             // kernels::SumMagnitude
};

/// One set of inputs, row-major in the values' own types, with the expected outputs.
struct Expectation {
  std::string_view inputs_name;  // "noise", "large" or "tiny"
  std::vector<Tensor> inputs;
  std::vector<ExpectedOutput> outputs;
};

/// The expectations of one group, whatever its candidates' states. Not synchronised.
class GroupExpectations {
 public:
  /// The first set is noise: floats in [-1, 1], bytes over their whole range, other integers 0 or 1
  /// (0 alone where that is out of range). The others are extreme where the group has inputs that
  /// can be, and few multiply-adds for them: large and alternating in sign along every axis; tiny.
  /// Fails with kUnsupported where the group cannot run on made-up inputs.
  static Result<std::unique_ptr<GroupExpectations>> Make(std::shared_ptr<const ir::Graph> group,
                                                         const ExpectationOptions& options,
                                                         ThreadPool& pool);

  /// Not OK: the right outputs are unknown, and the noise comes without outputs.
  const Status& oracle() const { return oracle_; }
  std::span<const Expectation> sets() const { return sets_; }

  /// The bytes of input `input` of set `set` in `state`; made once, valid as long as this object.
  std::span<const std::byte> InState(size_t set, size_t input, const State& state);
  /// Bytes held.
  int64_t bytes() const { return bytes_; }

 private:
  GroupExpectations() = default;
  Status AddSets(const ExpectationOptions& options, ThreadPool& pool);
  Status AddSet(const Filling& filling, std::vector<Tensor> inputs,
                std::span<const Elements> elements, const Oracle& oracle);

  std::shared_ptr<const ir::Graph> group_;
  Status oracle_;
  std::vector<Expectation> sets_;
  std::map<std::string, std::vector<std::byte>> in_state_;
  int64_t bytes_ = 0;
};

}  // namespace fettle::tuner
