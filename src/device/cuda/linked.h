// Programs that NVIDIA's CUDA driver compiles for its OpenCL driver.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/primary_context.h"

namespace fettle::cuda {

/// Machine code for the PTX that OpenCL's driver made. That driver loads it; by itself it would
/// compile PTX one program after the other, while this function runs on any number of threads at a
/// time. kUnsupported for anything that is not PTX, kDeviceError where the driver refuses it.
fettle::Result<std::vector<std::byte>> Linked(std::string_view ptx, const PrimaryContext& context);

/// Changes the machine code `elf` so that its functions use that many more bytes of local memory
/// than they declare. kUnsupported where `elf` lacks a function, or is no machine code.
Status GrowLocalMemory(std::span<std::byte> elf,
                       const std::map<std::string, int64_t, std::less<>>& bytes);

}  // namespace fettle::cuda
