#include "basics/processor_share.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "basics/cpu_time.h"

namespace fettle::enhance {
namespace {

constexpr double kMs = 60;

double ShareOfOne() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const double cpu_start = ThreadCpuMs();
  double wall = 0;
  while (wall < kMs) wall = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return (ThreadCpuMs() - cpu_start) / wall;
}

}  // namespace

int ThreadsAtOnce(int threads) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return cores == 0 ? threads : std::min(threads, cores);
}

double ProcessorShare(int threads) {
  std::vector<double> shares(static_cast<size_t>(ThreadsAtOnce(threads)));
  {
    std::vector<std::jthread> workers;
    for (double& share : shares) workers.emplace_back([&share] { share = ShareOfOne(); });
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  return std::clamp(sum / static_cast<double>(shares.size()), 0.0, 1.0);
}

}  // namespace fettle::enhance
