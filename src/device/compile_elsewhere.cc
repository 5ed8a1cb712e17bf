#include "device/compile_elsewhere.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace fettle {
namespace {

std::atomic<int> g_at_once = 0;

}  // namespace

void SetCompilesAtOnce(int at_once) { g_at_once = at_once; }

int CompilesAtOnce() { return g_at_once; }

void PrepareAhead(int64_t count, const std::function<void(int64_t)>& prepare) {
  constexpr int64_t kForEach = 4;  // threads, of which most wait for the same program
  if (g_at_once < 2) return;
  const int64_t at_once = std::min(g_at_once * kForEach, count);
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) prepare(i);
  };
  // Not those of the pool: they wait for compilers.
  std::vector<std::thread> others;
  try {
    while (std::ssize(others) + 1 < at_once) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The system refuses more threads: those that started and this one do all of it.
  }
  work();
  for (std::thread& one : others) one.join();
}

}  // namespace fettle
