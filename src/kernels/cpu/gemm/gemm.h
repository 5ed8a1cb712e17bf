// C = alpha * op(A) * op(B) + beta * C on row-major fp32 matrices.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gemm/pack.h"

namespace fettle::kernels {

/// op(A) is m x k, op(B) k x n, C m x n; leading dimensions count elements between rows as stored.
/// With beta 0, C is not read. No operand may overlap C.
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1, beta = 0;
  const float* a = nullptr;
  int64_t lda = 0;
  bool transpose_a = false;
  const float* b = nullptr;
  int64_t ldb = 0;
  bool transpose_b = false;
  float* c = nullptr;
  int64_t ldc = 0;
};

/// Bytes that RunGemm needs for up to `threads` lanes, whatever the strides; 64-byte aligned.
int64_t GemmWorkspaceBytes(const CpuInfo& info, int64_t m, int64_t n, int64_t k, int threads);

/// Packs and multiplies; never allocates. Results do not depend on the number of threads.
void RunGemm(const CpuInfo& info, const GemmArgs& args, CpuStream& stream, std::byte* workspace,
             int threads);

/// The same with checks (kInvalidArgument on negative sizes or short leading dimensions) and its
/// own workspace (kOutOfMemory).
Status Gemm(const GemmArgs& args, const CpuDevice& device, CpuStream& stream);

}  // namespace fettle::kernels
