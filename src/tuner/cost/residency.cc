#include "tuner/cost/residency.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "base/clock.h"
#include "device/cpu/cache.h"

namespace fettle::tuner {
namespace {

constexpr int64_t kLine = 64;
/// What is read this much faster than from memory was in a cache.
constexpr double kFaster = 0.8;
constexpr int kPasses = 2;

/// Of the fastest of some passes over `bytes`, after `before` each.
template <typename Before>
int64_t PassNs(const std::vector<std::byte>& bytes, const Before& before) {
  int64_t best = INT64_MAX;
  for (int pass = 0; pass < kPasses; ++pass) {
    before();
    const int64_t begin = NowNs();
    int sum = 0;
    for (size_t at = 0; at < bytes.size(); at += kLine) sum += static_cast<int>(bytes[at]);
    [[maybe_unused]] volatile int read = sum;
    best = std::min(best, NowNs() - begin);
  }
  return best;
}

}  // namespace

bool StaysInCaches(int64_t bytes) {
  static std::mutex mutex;
  static std::map<int64_t, bool> known;
  const std::lock_guard lock(mutex);
  const auto [it, is_new] = known.try_emplace(bytes, true);
  if (!is_new) return it->second;
  const std::vector<std::byte> data(static_cast<size_t>(bytes), std::byte{1});
  const int64_t again = PassNs(data, [] {});
  bool dropped = true;
  const int64_t memory =
      PassNs(data, [&] { dropped = DropFromCaches(data.data(), std::ssize(data)); });
  if (dropped) it->second = static_cast<double>(again) < kFaster * static_cast<double>(memory);
  return it->second;
}

bool ConstantsAreCold(const ir::Graph& graph, const CpuInfo& info) {
  if (info.l3_bytes <= 0) return false;
  int64_t bytes = 0;
  std::set<uint64_t> splats;
  for (const ir::Value& value : graph.values()) {
    if (!value.is_constant()) continue;
    // Equal constants are packed once; those that are one element repeated are known cheaply.
    const Constant& constant = *value.constant;
    if (constant.is_splat() && !splats.insert(constant.Hash()).second) continue;
    bytes += constant.elements() * ByteSize(value.dtype);
  }
  return bytes > info.l3_bytes || (bytes > info.l2_bytes && !StaysInCaches(bytes));
}

}  // namespace fettle::tuner
