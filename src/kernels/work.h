// The least work of a kernel, whichever kernel it is.
#pragma once

#include "kernels/kernel.h"

namespace fettle::kernels {

/// What `match` says of the work of `setting`; where it is null or says nothing, the operators'
/// multiply-adds and the operands' bytes.
Work WorkOf(const KernelDesc& kernel, const Problem& problem, const Match* match,
            const Setting& setting);

}  // namespace fettle::kernels
