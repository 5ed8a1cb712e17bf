// The table of CPU kernels: the rows of table.inc.
#include "kernels/cpu/simd/targets.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

#define KERNEL(name) extern const KernelDesc name;
#include "kernels/cpu/table.inc"
#undef KERNEL

std::span<const KernelDesc* const> CpuKernels() {
  ApplyIsaCap();
#define KERNEL(name) &name,
  static const KernelDesc* const kTable[] = {
#include "kernels/cpu/table.inc"
  };
#undef KERNEL
  return kTable;
}

}  // namespace fettle::kernels
