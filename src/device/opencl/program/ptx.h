// Instructions that a driver's compiler does not take in OpenCL C, although the device has them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fettle {

/// Drivers of NVIDIA's give PTX as a program's binary, compiled for compute capability 9.0, whose
/// own instructions (wgmma) belong to 9.0a. Programs have them as comments that begin with "//@".
/// What is returned is `binary` with these as instructions; empty where there are none, as in
/// binaries of other kinds. kUnsupported where the PTX is of another capability.
Result<std::vector<std::byte>> WithMarkedInstructions(std::span<const std::byte> binary);

/// Whether a program has such instructions, by its source or its PTX.
bool HasMarks(std::string_view program);

}  // namespace fettle
