// Whether an OpenCL device counts pairs of ones by matrix instructions.
#pragma once

#include "device/opencl/opencl_device.h"

namespace fettle::kernels {

/// Runs the instruction of binary/bit_mma.clh on a device that has those of gemm/mma.clh and
/// compares its counts. kDeviceError where a launch failed.
Result<bool> ProbeBitMma(const OpenClDevice& device);
/// What that builds.
ProgramSource BitMmaProbe(const OpenClDevice& device);

}  // namespace fettle::kernels
