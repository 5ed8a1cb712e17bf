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
  /// How many sets were measured before it was taken for the best.
  int64_t evaluations = 0;
};

struct EntryCost {
  /// What the solver counts, in microseconds: a time in the network where that is known of such
  /// entries.
  double us = 0;
  /// What measuring it alone gave; 0: the same.
  double alone_us = 0;
  /// False: `us` is a lower bound (roofline, or of what a search may still find), not a time.
  bool measured = false;
  /// Rows of other devices that `us` was predicted from; 0: it was not.
  int predicted = 0;
  /// The least time of what was tried; of what was stopped as too slow, a lower bound; 0: nothing
  /// was tried.
  double seen_us = 0;
  /// What the host takes to enqueue it on a device that works meanwhile; 0: not known.
  double host_us = 0;
  /// Loss of accuracy; 0 where results stay in fp32 or are exact.
  double error = 0;
  /// Bytes that it works in besides its operands; 0 where nobody asked (see Bounds).
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
