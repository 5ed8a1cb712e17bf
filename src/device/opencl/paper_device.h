// An OpenCL device that is not here, by its facts.
#pragma once

#include <memory>

#include "device/opencl/opencl_device.h"

namespace fettle {

/// Kernels match on it and are priced as there; nothing can be allocated, built or run.
Result<std::shared_ptr<OpenClDevice>> OpenPaperDevice(const OpenClFacts& facts);

}  // namespace fettle
