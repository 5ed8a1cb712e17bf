// The rows that a library is built with.
#pragma once

#include <span>

#include "kernels/backend.h"

namespace fettle::kernels {

/// The CPU's first. The runtime library and builds without OpenCL have only the CPU's.
std::span<const Backend* const> BuiltBackends();

}  // namespace fettle::kernels
