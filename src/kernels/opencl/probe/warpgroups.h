// Whether an OpenCL device multiplies matrices by instructions of warpgroups.
#pragma once

#include "device/opencl/opencl_device.h"

namespace fettle::kernels {

/// Runs tiles of gemm/warpgroup_tiles.clh of f16 and of bytes and says in `facts` whether what they
/// make is right: it is not where the driver refuses the programs. kDeviceError where a launch
/// failed, after which the device may be of no more use.
Status ProbeWarpgroups(const OpenClDevice& device, MmaFacts& facts);
/// What that builds where all of it works.
std::vector<ProgramSource> WarpgroupProbes(const OpenClDevice& device);

}  // namespace fettle::kernels
