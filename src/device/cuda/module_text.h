// PTX that NVIDIA's OpenCL driver made of a program, as its CUDA driver takes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fettle::cuda {

/// A module, and by function the bytes of local memory that its launches must ask for.
struct ModuleText {
  std::string ptx;
  std::map<std::string, int64_t, std::less<>> dynamic_bytes;
};

/// Registers of the environment, which the OpenCL driver sets, are replaced by their values:
/// launches begin at 0 (%envreg0 to 5), have as many work-groups as their grid (6 to 8) and three
/// dimensions (9). A function that declares more local memory than CUDA gives by default (48 KiB)
/// gets it as one array, whose size the launch gives. kUnsupported for anything that is not PTX,
/// and for other registers.
fettle::Result<ModuleText> ModuleTextOf(std::string_view ptx);

/// The text that CUDA's driver links and OpenCL's driver then loads: registers of the environment
/// stay, and functions of over 48 KiB declare kStandInBytes where they need `dynamic_bytes`.
/// kUnsupported for anything that is not PTX.
constexpr int64_t kStandInBytes = 128;
fettle::Result<ModuleText> LinkTextOf(std::string_view ptx);

}  // namespace fettle::cuda
