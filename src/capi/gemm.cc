// fettle.h: the matrix product.
#include "kernels/cpu/gemm/gemm.h"

#include "capi/handles.h"
#include "device/cpu/cpu_device.h"

using fettle::CpuDevice;
using fettle::InvalidArgument;
using fettle::Status;
using fettle::capi::Guard;

namespace {

/// One pool for all products of the process, made by the first of them.
const CpuDevice& SharedDevice() {
  static const CpuDevice device(std::make_shared<fettle::ThreadPool>(fettle::GetCpuInfo().cores));
  return device;
}

}  // namespace

fettle_status fettle_sgemm(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
                           float alpha, const float* a, int64_t lda, const float* b, int64_t ldb,
                           float beta, float* c, int64_t ldc, int threads) {
  return Guard([&]() -> Status {
    if (threads < 0) return InvalidArgument("threads {}: expected 0 or more", threads);
    if (m > 0 && n > 0) FETTLE_REQUIRE(c);
    if (m > 0 && n > 0 && k > 0) {
      FETTLE_REQUIRE(a);
      FETTLE_REQUIRE(b);
    }
    const CpuDevice& device = SharedDevice();
    fettle::CpuStream stream(device, threads == 0 ? device.pool().threads() : threads);
    return fettle::kernels::Gemm({.m = m,
                                  .n = n,
                                  .k = k,
                                  .alpha = alpha,
                                  .beta = beta,
                                  .a = a,
                                  .lda = lda,
                                  .transpose_a = transpose_a != 0,
                                  .b = b,
                                  .ldb = ldb,
                                  .transpose_b = transpose_b != 0,
                                  .c = c,
                                  .ldc = ldc},
                                 device, stream);
  });
}
