// A prepared kernel with guarded memory to run on: what tests and the tuner launch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/check/guarded_memory.h"
#include "kernels/check/operand.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// Memory for launches one after the other. Kernels for equal operands may share one.
struct OperandMemory {
  std::vector<GuardedMemory> inputs, outputs;
};

/// Sizes `memory` for `operands` of a kernel of `device`: external ones off their alignment by one
/// element where `misaligned`. Fails with kOutOfMemory, or kUnsupported where the device has no
/// such image.
Status Allocate(const Operands& operands, bool misaligned, const Device& device,
                OperandMemory& memory);

/// Not synchronised.
class BoundKernel {
 public:
  /// Packs the constants of `group` that `kernel` asks for, into memory of the kernel's `device`.
  /// `memory` was allocated for `operands`.
  static Result<BoundKernel> Bind(std::unique_ptr<PreparedKernel> kernel, Operands operands,
                                  const ir::Graph* group, std::shared_ptr<OperandMemory> memory,
                                  const Device& device);

  const Operands& operands() const { return operands_; }
  const PreparedKernel& kernel() const { return *kernel_; }
  /// Bytes of packed constants.
  int64_t packed_bytes() const;
  /// Each packed constant, as the host sees it.
  std::vector<std::span<const std::byte>> packed() const;
  /// True if all outputs are views or empty: such a kernel is never launched.
  bool LaunchesNothing() const;

  /// Puts output `alias->output` in the place of its input from now on; null: only views. Call it
  /// again after `memory` was resized. False: the output does not fit there.
  bool PutInPlace(const Alias* alias);
  /// Fills outputs that have bytes of their own, and the workspace.
  Status Poison(std::byte value, Stream& stream) const;
  Status WriteInputs(std::span<const std::span<const std::byte>> contents, Stream& stream) const;
  Status Launch(Stream& stream) const;
  /// After launches: waits, and copies what was written on a device to the host.
  Status Fetch(Stream& stream) const;
  /// The bytes of an input on the host: to write them where no device has others.
  std::byte* input(size_t i) const { return memory_->inputs[i].host(); }
  /// The bytes of an output after a launch and a fetch.
  const std::byte* output(size_t o) const { return output_bytes_[o]; }

  /// Whether canaries are intact and pad lanes zero as of the last fetch; kInternal, saying where
  /// they are not.
  Status CheckMemory() const;

 private:
  BoundKernel() = default;
  Status Pack(const ir::Graph& group, const Device& device, Stream& stream);

  std::unique_ptr<PreparedKernel> kernel_;
  Operands operands_;
  std::shared_ptr<OperandMemory> memory_;
  std::vector<GuardedMemory> packed_;
  GuardedMemory workspace_;
  std::vector<Location> input_locations_, output_locations_, packed_locations_;
  std::vector<const std::byte*> output_bytes_;
  std::vector<bool> shares_;  // per output: lies in an input
};

}  // namespace fettle::kernels
