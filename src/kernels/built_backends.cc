// The table of backends: a row is all that a backend needs to be found.
#include "kernels/built_backends.h"

namespace fettle::kernels {

extern const Backend kCpuBackend;
extern const Backend kOpenClBackend;

std::span<const Backend* const> BuiltBackends() {
  static constexpr const Backend* kRows[] = {&kCpuBackend, &kOpenClBackend};
  return kRows;
}

}  // namespace fettle::kernels
