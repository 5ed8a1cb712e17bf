#include "device/compile_elsewhere.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace fettle {
namespace {

std::atomic<int> g_at_once = 0;

}  // namespace

void SetCompilesAtOnce(int at_once) { g_at_once = at_once; }

int CompilesAtOnce() { return g_at_once; }

void PrepareAhead(int64_t count, const std::function<void(int64_t)>& prepare) {
  const int64_t threads = std::min<int64_t>(g_at_once, count);
  if (threads < 2) return;
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) prepare(i);
  };
  // Not those of the pool: they wait for compilers.
  std::vector<std::thread> all;
  for (int64_t i = 0; i < threads; ++i) all.emplace_back(work);
  for (std::thread& one : all) one.join();
}

}  // namespace fettle
