// Kernels and conversions made runnable on the CPU, and timed as a network would run them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/check/bound_kernel.h"
#include "tuner/candidate.h"

namespace fettle::tuner {

/// Owns the memory that candidates run on, one problem after the other. Not synchronised.
class Workbench {
 public:
  Workbench(const CpuDevice& device, std::function<int64_t()> now_ns);

  /// Prepares, packs, binds. Kernels bound earlier for other operands must be gone.
  Result<kernels::BoundKernel> Bind(const Candidate& candidate);
  Result<kernels::BoundKernel> BindConversion(const kernels::Operand& from, const State& to);
  /// Whether external operands lie off their alignment, as they may in the hands of a caller: while
  /// verifying. Keeps no contents.
  Status Misalign(kernels::BoundKernel& kernel, bool misaligned);

  /// Microseconds of one launch. Right before it, the lanes that will run it are woken, constants
  /// are pushed out of the nearer caches (in a network, all other layers have run since their last
  /// use), and the inputs are written by the same lanes.
  Result<double> TimeUs(const kernels::BoundKernel& kernel,
                        std::span<const std::span<const std::byte>> inputs, CpuStream& stream);

 private:
  void MakeReady(const kernels::BoundKernel& kernel,
                 std::span<const std::span<const std::byte>> inputs, CpuStream& stream);

  const CpuDevice& device_;
  std::function<int64_t()> now_ns_;
  std::shared_ptr<kernels::OperandMemory> memory_;
  std::vector<uint64_t> evictor_;  // read to push other things out
};

}  // namespace fettle::tuner
