#include "kernels/convert.h"

#include "kernels/cpu/convert/convert.h"
#include "kernels/opencl/convert/convert.h"

namespace fettle::kernels {

DeviceKind ConversionDevice(const State& from, const State& to) {
  return from.device == DeviceKind::kCpu ? to.device : from.device;
}

Status CheckConversion(const Shape& shape, const State& from, const State& to) {
  if (ConversionDevice(from, to) == DeviceKind::kCpu) return OkStatus();
  return CheckOpenClConversion(shape, from, to);
}

Result<std::unique_ptr<PreparedKernel>> PrepareAnyConversion(const Shape& shape, const State& from,
                                                             const State& to,
                                                             const Device& device) {
  if (device.kind() == DeviceKind::kCpu) return PrepareConversion(shape, from, to, device);
  return PrepareOpenClConversion(shape, from, to, device);
}

}  // namespace fettle::kernels
