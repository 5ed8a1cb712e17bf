// The table of the kernels of OpenCL devices: the rows of table.inc.
#include "kernels/opencl/opencl_backend.h"

namespace fettle::kernels {

#define KERNEL(name) extern const KernelDesc name;
#include "kernels/opencl/table.inc"
#undef KERNEL

std::span<const KernelDesc* const> OpenClKernels() {
#define KERNEL(name) &name,
  static const KernelDesc* const kTable[] = {
#include "kernels/opencl/table.inc"
  };
#undef KERNEL
  return kTable;
}

}  // namespace fettle::kernels
