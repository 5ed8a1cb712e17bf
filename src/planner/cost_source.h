// Where the planner's costs come from.
#pragma once

#include <memory>
#include <string>

#include "planner/catalogue.h"

namespace fettle::planner {

/// A set of parameters for an entry, and where it came from.
struct Proposal {
  kernels::Params params;
  /// "default", a rule ("mace-2d"), another slot or device, or the strategy of a search.
  std::string by;
  bool is_default = true;
  /// How many sets of parameters were measured before this one was chosen.
  int64_t evaluations = 0;
};

struct EntryCost {
  /// The cost that the solver uses, in microseconds: the time in a network, where that is known for
  /// such entries.
  double us = 0;
  /// The measured time alone; 0: equal to `us`.
  double alone_us = 0;
  /// False: `us` is a lower bound (roofline, or what a search may still find), not a time.
  bool measured = false;
  /// Rows of other devices that `us` was predicted from; 0: it was not.
  int predicted = 0;
  /// The least time that was measured; of a measurement that was stopped as too slow, its lower
  /// bound; 0: nothing was measured.
  double seen_us = 0;
  /// How long the host takes to enqueue it on a device that works meanwhile; 0: unknown.
  double host_us = 0;
  /// Loss of accuracy; 0 where results stay in fp32 or are exact.
  double error = 0;
  /// Bytes of its workspace; 0 where nobody asked (see Bounds).
  int64_t workspace = 0;
  /// Why the entry may not be taken (wrong results, crash); empty: it may.
  std::string banned;
  /// The parameters that the cost is of; null: the default ones.
  std::shared_ptr<const Proposal> proposal = nullptr;
};

class CostSource {
 public:
  virtual ~CostSource() = default;
  virtual EntryCost Kernel(const Kind& kind, const Entry& entry) = 0;
  virtual EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                               int threads) = 0;
};

}  // namespace fettle::planner
