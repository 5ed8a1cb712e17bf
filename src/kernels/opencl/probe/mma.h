// Whether an OpenCL device multiplies matrices by instructions of its own.
#pragma once

#include "device/opencl/opencl_device.h"

namespace fettle::kernels {

/// Runs the instructions of gemm/mma.clh with as much local memory as there is and compares what
/// they make: what the facts of a device are to say. `mma` is false where the device takes no PTX,
/// the driver refuses the program, or its results are wrong. Programs that were built before come
/// from the device's cache, those that failed are not tried again there. kDeviceError where a
/// launch failed, after which the device may be of no more use; opened again it may be asked
/// without those of warpgroups, which one kind of device has.
Result<MmaFacts> ProbeMma(const OpenClDevice& device, bool with_warpgroups = true);

}  // namespace fettle::kernels
