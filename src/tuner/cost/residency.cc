#include "tuner/cost/residency.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
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

/// What stands for the contents of a constant: those that are one element repeated are packed once,
/// of others each is taken for another.
uint64_t IdentityOf(const Constant& constant) {
  return constant.is_splat() ? constant.Hash() : reinterpret_cast<uintptr_t>(&constant);
}

/// Of the constants that the CPU's steps read, each packed form once.
int64_t PackedBytes(const exec::Plan& plan) {
  std::map<std::pair<std::string, std::vector<uint64_t>>, int64_t> packed;
  for (const exec::PlannedStep& step : plan.steps) {
    if (step.match == nullptr || DeviceOf(plan, step) != DeviceKind::kCpu) continue;
    const auto kernel = step.match->Prepare({step.states_index, step.problem.threads, step.params});
    if (!kernel.ok()) continue;
    for (const kernels::PackRequest& request : (*kernel)->packs()) {
      std::vector<uint64_t> contents;
      for (ir::ValueId id : request.constants)
        contents.push_back(IdentityOf(*step.problem.group->value(id).constant));
      packed[{request.recipe, std::move(contents)}] = request.bytes;
    }
  }
  int64_t bytes = 0;
  for (const auto& [form, size] : packed) bytes += size;
  return bytes;
}

}  // namespace

bool StaysInCaches(int64_t bytes) {
  static std::mutex mutex;
  static std::map<int64_t, bool> known;
  const std::lock_guard lock(mutex);
  const auto [it, is_new] = known.try_emplace(bytes, true);
  if (!is_new) return it->second;
  const std::vector<std::byte> data(bytes, std::byte{1});
  const int64_t again = PassNs(data, [] {});
  bool dropped = true;
  const int64_t memory =
      PassNs(data, [&] { dropped = DropFromCaches(data.data(), std::ssize(data)); });
  if (dropped) it->second = static_cast<double>(again) < kFaster * static_cast<double>(memory);
  return it->second;
}

bool ConstantsAreCold(const exec::Plan& plan, const CpuInfo& info) {
  if (info.l3_bytes <= 0) return false;
  const int64_t bytes = PackedBytes(plan);
  return bytes > info.l3_bytes || (bytes > info.l2_bytes && !StaysInCaches(bytes));
}

}  // namespace fettle::tuner
