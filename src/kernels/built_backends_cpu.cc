// The CPU alone: of the runtime library, and of builds without OpenCL.
#include "kernels/built_backends.h"

namespace fettle::kernels {

extern const Backend kCpuBackend;

std::span<const Backend* const> BuiltBackends() {
  static constexpr const Backend* kRows[] = {&kCpuBackend};
  return kRows;
}

}  // namespace fettle::kernels
