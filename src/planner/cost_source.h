// Where the planner's costs come from.
#pragma once

#include "kernels/kernel.h"

namespace fettle::planner {

struct EntryCost {
  double us = 0;
  /// False: `us` is an admissible lower bound (roofline), not a time.
  bool measured = false;
  /// Loss of accuracy; 0 where results stay in fp32 or are exact.
  double error = 0;
  /// Why the entry may not be taken (wrong results, crash); empty: it may.
  std::string banned;
};

/// Thread-safe.
class CostSource {
 public:
  virtual ~CostSource() = default;
  virtual EntryCost Kernel(const kernels::KernelDesc& kernel, const kernels::Problem& problem,
                           const kernels::Params& params) = 0;
  virtual EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                               int threads) = 0;
};

}  // namespace fettle::planner
