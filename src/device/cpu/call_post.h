// Where a call of the thread pool is published for its workers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/subnormals.h"
#include "device/cpu/lane_share.h"
#include "device/cpu/thread_pool.h"

namespace fettle {

/// Tasks cut into a share for each lane: neighbouring tasks, which it claims before it helps
/// others. Operators that follow each other cut their tensors alike, so that a core finds in its
/// caches what it wrote there. A share is claimed in parts, which are single tasks but for very
/// many.
class PoolCall {
 public:
  using Task = FunctionRef<void(int64_t task, int lane)>;

  /// At least one task for each of `lanes`.
  PoolCall(const Task& task, int64_t tasks, int lanes)
      : task_(task),
        whole_(tasks / lanes),
        larger_(static_cast<int>(tasks % lanes)),
        grain_(whole_ / LaneShare::kMostParts + 1),
        lanes_(lanes) {}

  int lanes() const { return lanes_; }
  /// How its caller treats subnormal numbers.
  Subnormals subnormals() const { return subnormals_; }
  int Parts(int share) const {
    const int64_t tasks = Begin(share + 1) - Begin(share);
    return static_cast<int>(grain_ == 1 ? tasks : (tasks + grain_ - 1) / grain_);
  }
  void RunPart(int share, int part, int lane) const {
    const int64_t from = Begin(share) + part * grain_;
    const int64_t to = std::min(from + grain_, Begin(share + 1));
    for (int64_t task = from; task < to; ++task) task_(task, lane);
  }

 private:
  int64_t Begin(int share) const { return whole_ * share + std::min(larger_, share); }

  Task task_;
  int64_t whole_;
  int larger_;  // so many shares, the first ones, have a task more
  int64_t grain_;
  int lanes_;
  Subnormals subnormals_ = CurrentSubnormals();
};

/// What workers watch: the number of a call, how many lanes it has and which worker is lane 1.
struct Notice {
  static constexpr int kMostLanes = 255;

  uint64_t call;
  int first, lanes;

  static Notice Read(uint64_t word) {
    return {word >> 16, static_cast<int>(word >> 8 & 255), static_cast<int>(word & 255)};
  }
  uint64_t word() const { return call << 16 | static_cast<uint64_t>(first << 8 | lanes); }
};
static_assert(LaneShare::kCallBits == 48);

/// One caller's at a time.
struct CallPost {
  alignas(64) std::atomic<uint64_t> notice{0};
  std::optional<PoolCall> call;  // stays while its lanes' workers have joined it and not left
  alignas(64) std::atomic<bool> busy{false};
  std::deque<LaneShare> shares;  // of all lanes that there may be
};

}  // namespace fettle
