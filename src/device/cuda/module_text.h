// PTX that NVIDIA's OpenCL driver made of a program, as its CUDA driver takes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fettle::cuda {

/// A module, and by function the bytes of local memory that its launches have to ask for.
struct ModuleText {
  std::string ptx;
  std::map<std::string, int64_t, std::less<>> dynamic_bytes;
};

/// What the OpenCL driver keeps in registers of the environment is written out: launches begin at
/// 0 (%envreg0 to 5), have as many work-groups as their grid (6 to 8) and three dimensions (9).
/// Functions that declare more local memory than CUDA gives without being asked (48 KiB) have it
/// as one array whose size the launch gives. kUnsupported for what is no PTX, and for other
/// registers.
fettle::Result<ModuleText> ModuleTextOf(std::string_view ptx);

/// What OpenCL's driver is to load after CUDA's has linked it: registers of the environment stay,
/// and functions of over 48 KiB declare kStandInBytes where they need `dynamic_bytes`.
/// kUnsupported for what is no PTX.
constexpr int64_t kStandInBytes = 128;
fettle::Result<ModuleText> LinkTextOf(std::string_view ptx);

}  // namespace fettle::cuda
