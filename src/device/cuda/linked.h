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

/// Machine code of PTX that OpenCL's driver has made, for that driver to load. It compiles PTX one
/// program after the other; this runs on any number of threads at a time. kUnsupported for what is
/// no PTX, kDeviceError where the driver does not take it.
fettle::Result<std::vector<std::byte>> Linked(std::string_view ptx, const PrimaryContext& context);

/// Has functions of the machine code `elf` use so many more bytes of local memory than they
/// declare. kUnsupported where it does not have them, or is none.
Status GrowLocalMemory(std::span<std::byte> elf,
                       const std::map<std::string, int64_t, std::less<>>& bytes);

}  // namespace fettle::cuda
