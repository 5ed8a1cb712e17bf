// Where the planner's costs come from.
#pragma once

#include <string>

#include "planner/catalogue.h"

namespace fettle::planner {

struct EntryCost {
  /// What the solver counts, in microseconds: a time in the network where that is known of such
  /// entries.
  double us = 0;
  /// What measuring it alone gave; 0: the same.
  double alone_us = 0;
  /// False: `us` is an admissible lower bound (roofline), not a time.
  bool measured = false;
  /// Measured, or stopped as too slow.
  bool tried = false;
  /// Loss of accuracy; 0 where results stay in fp32 or are exact.
  double error = 0;
  /// Bytes that it works in besides its operands; 0 where nobody asked (see Bounds).
  int64_t workspace = 0;
  /// Why the entry may not be taken (wrong results, crash); empty: it may.
  std::string banned;
};

class CostSource {
 public:
  virtual ~CostSource() = default;
  virtual EntryCost Kernel(const Kind& kind, const Entry& entry) = 0;
  virtual EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                               int threads) = 0;
};

}  // namespace fettle::planner
