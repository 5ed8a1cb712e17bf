// A prepared kernel with guarded memory to run on: what tests and the tuner launch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/check/guarded_block.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// A value in a state.
struct Operand {
  Shape shape;
  DType dtype = DType::kF32;
  State state;
};

/// What a launch reads and writes.
struct Operands {
  std::vector<Operand> inputs, outputs;
};
Operands OperandsOf(const Problem& problem);

/// Memory for launches one after the other. Kernels for equal operands may share one.
struct OperandMemory {
  std::vector<GuardedBlock> inputs, outputs;
};

/// Sizes `memory` for `operands`: external ones off their alignment by one element where
/// `misaligned`. Fails with kOutOfMemory.
Status Allocate(const Operands& operands, bool misaligned, OperandMemory& memory);

/// Not synchronised.
class BoundKernel {
 public:
  /// Packs the constants of `group` that `kernel` asks for. `memory` was allocated for `operands`.
  static Result<BoundKernel> Bind(std::unique_ptr<PreparedKernel> kernel, Operands operands,
                                  const ir::Graph* group, std::shared_ptr<OperandMemory> memory);

  const Operands& operands() const { return operands_; }
  const PreparedKernel& kernel() const { return *kernel_; }
  /// Bytes of packed constants.
  int64_t packed_bytes() const;
  /// True if all outputs are views or empty: such a kernel is never launched.
  bool LaunchesNothing() const;

  /// Puts output `alias->output` in the place of its input from now on; null: none but views. Call
  /// it too after `memory` was sized again. False: the output does not fit there.
  bool PutInPlace(const Alias* alias);
  /// Fills outputs that have bytes of their own, and the workspace.
  void Poison(std::byte value) const;
  /// Copies contents into the inputs, in parallel.
  void WriteInputs(std::span<const std::span<const std::byte>> contents, CpuStream& stream) const;
  Status Launch(CpuStream& stream) const;
  std::byte* input(size_t i) const { return input_locations_[i].host<std::byte>(); }
  /// The bytes of an output after a launch.
  const std::byte* output(size_t o) const { return output_locations_[o].host<std::byte>(); }

  /// After launches: whether canaries are intact and pad lanes zero; kInternal, saying where not.
  Status CheckMemory() const;

 private:
  BoundKernel() = default;
  Status Pack(const ir::Graph& group);

  std::unique_ptr<PreparedKernel> kernel_;
  Operands operands_;
  std::shared_ptr<OperandMemory> memory_;
  std::vector<GuardedBlock> packed_;
  GuardedBlock workspace_;
  std::vector<Location> input_locations_, output_locations_, packed_locations_;
  std::vector<bool> shares_;  // per output: lies in an input
};

}  // namespace fettle::kernels
