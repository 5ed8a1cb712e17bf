// The ceilings of an OpenCL device, measured: what its kernels' times are compared with.
#pragma once

#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "kernels/ceiling.h"

namespace fettle::kernels {

/// Those that are asked for, of the whole device; what it has not with the reason (docs/peaks.md
/// says what each is). For bounds: "fp32 fma", "cached read", "global read", "launch us", "host to
/// device" and "device to host", about 100 ms on a GPU besides building programs. Fails where the
/// device takes no work at all.
Result<std::vector<Ceiling>> ProbeOpenCl(const Device& device, const ProbeRequest& request);

}  // namespace fettle::kernels
