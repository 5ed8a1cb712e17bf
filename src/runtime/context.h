// What all programs of one session share while they run.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "exec/packed_store.h"
#include "exec/profile.h"
#include "planner/plan_source.h"

namespace fettle::runtime {

/// One per session; belongs to the thread that runs it, except for `cancelled`.
struct Context {
  const CpuDevice& device;
  exec::PackedStore& packed;
  planner::Limits limits;
  planner::PlanSource& plans;
  int max_preparations;
  CpuStream stream;
  std::atomic<bool> cancelled{false};
  /// Steps of the run in progress.
  std::vector<exec::StepTime> times;
  /// Programs of one session never run at the same time, so they share one arena, as large as the
  /// largest needs.
  std::shared_ptr<std::byte> arena;
  int64_t arena_bytes = 0;

  /// Grows the arena to `bytes`. Fails with kOutOfMemory.
  Status ReserveArena(int64_t bytes) {
    if (bytes <= arena_bytes) return OkStatus();
    arena.reset();
    arena_bytes = 0;
    ASSIGN_OR_RETURN(arena, AllocateHost(bytes));
    arena_bytes = bytes;
    return OkStatus();
  }
};

}  // namespace fettle::runtime
