// What makes floats of the sums of a MatMulInteger: a factor and an addend for each column.
#pragma once

#include <span>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/elementwise/program.h"

namespace fettle::kernels {

class SumScale {
 public:
  /// Of a group that begins with the product. Fails with kUnsupported where anything else follows.
  static Result<SumScale> Read(const ir::Graph& group, const StateAssignment& states);

  std::span<const PackRequest> packs() const { return program_.packs(); }
  /// Writes a value of each for each column. What answers packs() comes last in the launch.
  void Fill(const CpuLaunch& args, int64_t columns, float* factors, float* addends) const;

 private:
  SumScale(elementwise::Program program, const elementwise::ScaledValue& scaled)
      : program_(std::move(program)), scaled_(scaled) {}

  elementwise::Program program_;
  elementwise::ScaledValue scaled_;
};

}  // namespace fettle::kernels
