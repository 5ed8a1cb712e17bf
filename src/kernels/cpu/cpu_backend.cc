// The CPU as a backend.
#include "kernels/backend.h"
#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/probe/probe.h"

namespace fettle::kernels {

extern const Backend kCpuBackend;
const Backend kCpuBackend = {
    .name = "cpu",
    .title = "CPU",
    .kernels = CpuKernels,
    .probe = [](const Device& device, const ProbeRequest& request) -> Result<std::vector<Ceiling>> {
      return ProbeCpu(static_cast<const CpuDevice&>(device), request);
    },
    .check_conversion = [](const Shape&, const State&, const State&) { return OkStatus(); },
    .convert = PrepareConversion};

}  // namespace fettle::kernels
