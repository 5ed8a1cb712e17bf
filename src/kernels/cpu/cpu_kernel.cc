#include "kernels/cpu/cpu_kernel.h"

#include <cstring>

namespace fettle::kernels {

Status CpuKernel::Launch(const LaunchArgs& args) const {
  if (zero_bytes_ > 0) std::memset(args.workspace.host<std::byte>(), 0, zero_bytes_);
  return Run({args, static_cast<CpuStream&>(args.stream), shared_bytes_, lane_bytes_});
}

int64_t CpuKernel::Add(int64_t& bytes, int64_t more) {
  constexpr int64_t kLine = 64;
  const int64_t offset = bytes;
  bytes += (more + kLine - 1) / kLine * kLine;
  return offset;
}

}  // namespace fettle::kernels
