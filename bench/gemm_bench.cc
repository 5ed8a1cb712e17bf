// fp32 GEMM: GFLOP/s and the share of the FMA ceiling measured in the same process.
// Usage: gemm_bench [THREADS [M N K]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/probe/fma.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file

double BestSeconds(const kernels::GemmArgs& args, const CpuDevice& device, CpuStream& stream) {
  double best = 1e30;
  const int64_t until = NowNs() + 1'000'000'000;
  do {
    const int64_t start = NowNs();
    if (!kernels::Gemm(args, device, stream).ok()) std::abort();
    best = std::min(best, static_cast<double>(NowNs() - start) * 1e-9);
  } while (NowNs() < until);
  return best;
}

void Run(int64_t m, int64_t n, int64_t k, const CpuDevice& device, int threads) {
  std::vector<float> a(static_cast<size_t>(m * k), 0.5F), b(static_cast<size_t>(k * n), 0.25F),
      c(static_cast<size_t>(m * n));
  kernels::GemmArgs args;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = a.data();
  args.lda = k;
  args.b = b.data();
  args.ldb = n;
  args.c = c.data();
  args.ldc = n;
  CpuStream stream(device, threads);
  double ceiling = kernels::ProbeFmaFlops();
  const double seconds = BestSeconds(args, device, stream);
  ceiling = std::max(ceiling, kernels::ProbeFmaFlops()) * threads;
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / seconds;
  std::printf("%5ld x %5ld x %5ld  %d thread(s)  %9.3f ms  %7.1f GFLOP/s  %5.1f %% of %.1f\n",
              static_cast<long>(m), static_cast<long>(n), static_cast<long>(k), threads,
              seconds * 1e3, flops * 1e-9, 100 * flops / ceiling, ceiling * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const CpuDevice device(std::make_shared<ThreadPool>(threads));
  if (argc > 4) {
    Run(std::atol(argv[2]), std::atol(argv[3]), std::atol(argv[4]), device, threads);
    return 0;
  }
  for (const int64_t size : {128, 256, 512, 1024, 2048}) Run(size, size, size, device, threads);
  Run(1, 1024, 1024, device, threads);
  Run(7, 1000, 2048, device, threads);
  Run(197, 768, 3072, device, threads);
}
