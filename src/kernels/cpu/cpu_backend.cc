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
    .probe = [](const Device& device) -> Result<std::vector<Ceiling>> {
      return Probe(static_cast<const CpuDevice&>(device));
    },
    .check_conversion = [](const Shape&, const State&, const State&) { return OkStatus(); },
    .convert = PrepareConversion};

}  // namespace fettle::kernels
