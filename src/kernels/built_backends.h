// The rows that a library is built with.
#pragma once

#include <span>

#include "kernels/backend.h"

namespace fettle::kernels {

/// The CPU's first. The runtime library has a table of its own, of the CPU alone (capi/runtime).
std::span<const Backend* const> BuiltBackends();

}  // namespace fettle::kernels
