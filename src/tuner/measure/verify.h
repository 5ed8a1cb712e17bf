// Whether a kernel computes what the oracle computes.
#pragma once

#include <functional>
#include <string>

#include "kernels/check/bound_kernel.h"
#include "tuner/measure/expectation.h"

namespace fettle::tuner {

struct Verdict {
  std::string wrong;  // what and where; empty: nothing
  /// Share of noise in the power of the worst output, where operands are stored in less than their
  /// own type or rounded to less; 0 otherwise.
  double error = 0;
};

/// Launches `kernel` on every set of `expectations`, the last one in place where the kernel offers
/// that, with all other memory poisoned; it computes in `arithmetic`. A reference, which is the
/// oracle itself, runs once and may compute anything. Fails where a launch does, and where the
/// oracle does not know the right outputs. Gives up between sets (kCancelled) where `is_late` says
/// so.
Result<Verdict> Verify(kernels::BoundKernel& kernel, kernels::Arithmetic arithmetic,
                       GroupExpectations& expectations, Stream& stream,
                       const std::function<bool()>& is_late = nullptr);

/// The same for a conversion, against the generic one, on noise.
Result<Verdict> VerifyConversion(kernels::BoundKernel& conversion, Stream& stream);

}  // namespace fettle::tuner
