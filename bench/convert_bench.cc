// Conversions between layouts: GB/s read and written, and their share of what memcpy moves in the
// same process. Usage: convert_bench [THREADS [N C H W]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "device/cpu/cpu_device.h"
#include "kernels/cpu/convert/convert.h"
#include "tensor/tensor.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file

/// The fastest of a tenth of a second of runs.
template <typename F>
double BestSeconds(const F& run) {
  double best = 1e30;
  const int64_t until = NowNs() + 100'000'000;
  do {
    const int64_t start = NowNs();
    run();
    best = std::min(best, static_cast<double>(NowNs() - start) * 1e-9);
  } while (NowNs() < until);
  return best;
}

/// Seconds of copying `bytes` bytes in parts of a task's size.
double CopySeconds(CpuStream& stream, const std::byte* from, std::byte* to, int64_t bytes) {
  constexpr int64_t kPart = 128 << 10;
  return BestSeconds([&] {
    stream.ParallelFor((bytes + kPart - 1) / kPart, [&](int64_t part, int) {
      const int64_t begin = part * kPart;
      std::memcpy(to + begin, from + begin, static_cast<size_t>(std::min(kPart, bytes - begin)));
    });
  });
}

void Run(const Shape& shape, DType storage, const CpuDevice& device, int threads) {
  CpuStream stream(device, threads);
  std::printf("%s, %s, %d thread(s)\n", shape.ToString().c_str(), DTypeName(storage).data(),
              threads);
  for (const Layout& from_layout : LayoutsOfRank(4)) {
    for (const Layout& to_layout : LayoutsOfRank(4)) {
      const State from{.layout = from_layout, .storage = storage},
          to{.layout = to_layout, .storage = storage};
      const int64_t read = StateBytes(shape, from), written = StateBytes(shape, to);
      const auto src = AllocateHost(read).value(), dst = AllocateHost(written).value();
      const auto kernel = kernels::PrepareConversion(shape, from, to, device).value();
      const auto workspace = AllocateHost(kernel->workspace_bytes()).value();
      const Location in{src.get()}, out{dst.get()};
      const double seconds = BestSeconds([&] {
        if (!kernel->Launch({{&in, 1}, {&out, 1}, {}, {workspace.get()}, stream}).ok())
          std::abort();
      });
      const int64_t copied = std::min(read, written);
      const double copy = CopySeconds(stream, src.get(), dst.get(), copied);
      const double rate = static_cast<double>(read + written) / seconds;
      const double copy_rate = 2.0 * static_cast<double>(copied) / copy;
      std::printf("  %-8s to %-8s %9.1f us  %6.2f GB/s  %5.1f %% of memcpy\n",
                  LayoutName(from_layout, 4).c_str(), LayoutName(to_layout, 4).c_str(),
                  seconds * 1e6, rate * 1e-9, 100 * rate / copy_rate);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const CpuDevice device(std::make_shared<ThreadPool>(threads));
  if (argc > 5) {
    const Shape shape{std::atol(argv[2]), std::atol(argv[3]), std::atol(argv[4]),
                      std::atol(argv[5])};
    for (DType storage : {DType::kF32, DType::kU8}) Run(shape, storage, device, threads);
    return 0;
  }
  for (const Shape& shape :
       {Shape{1, 64, 56, 56}, Shape{1, 32, 112, 112}, Shape{1, 3, 224, 224}, Shape{1, 1024, 7, 7}})
    Run(shape, DType::kF32, device, threads);
  Run({1, 64, 56, 56}, DType::kU8, device, threads);
}
