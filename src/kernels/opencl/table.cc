// The kernels of OpenCL devices. A line here is all that a kernel needs to be found.
#include <vector>

#include "kernels/kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClConvDirect;
extern const KernelDesc kOpenClConvDepthwise;
extern const KernelDesc kOpenClConvFirstLayer;
extern const KernelDesc kOpenClConvPointwise;
extern const KernelDesc kOpenClElementwiseChain;
extern const KernelDesc kOpenClMoveCopy;
extern const KernelDesc kOpenClPoolWindow;
extern const KernelDesc kOpenClQuantisedConv;
extern const KernelDesc kOpenClResizeTaps;

std::span<const KernelDesc* const> OpenClKernels() {
  static const std::vector<const KernelDesc*> kKernels = {
      // keep-sorted start
      &kOpenClConvDirect,    &kOpenClConvDepthwise,    &kOpenClConvFirstLayer,
      &kOpenClConvPointwise, &kOpenClElementwiseChain, &kOpenClMoveCopy,
      &kOpenClPoolWindow,    &kOpenClQuantisedConv,    &kOpenClResizeTaps,
      // keep-sorted end
  };
  return kKernels;
}

}  // namespace fettle::kernels
