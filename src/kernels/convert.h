// Conversions between any two states, on the device that they need.
#pragma once

#include <memory>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// Where a conversion runs: on the accelerator if either state is its.
DeviceKind ConversionDevice(const State& from, const State& to);

/// OK, or why there is no such conversion. Cheap: nothing is built.
Status CheckConversion(const Shape& shape, const State& from, const State& to);

/// PrepareConversion or PrepareOpenClConversion; `device` is ConversionDevice's.
Result<std::unique_ptr<PreparedKernel>> PrepareAnyConversion(const Shape& shape, const State& from,
                                                             const State& to, const Device& device);

}  // namespace fettle::kernels
