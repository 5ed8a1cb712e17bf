// State that all programs of one session share while they run.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "exec/packed_store.h"
#include "exec/profile.h"
#include "exec/step_chains.h"
#include "exec/work_memory.h"
#include "planner/plan_source.h"
#include "runtime/output_pool.h"

namespace fettle::runtime {

/// One per session; belongs to the thread that runs it, except for `cancelled`.
struct Context {
  DeviceSet devices;
  exec::PackedStore& packed;
  planner::Limits limits;
  planner::PlanSource& plans;
  int max_preparations;
  CpuStream stream;
  std::vector<std::unique_ptr<Stream>> accelerators;  // as devices.beside_cpu()
  /// Waits for its device after each step, so that profiles hold the steps' own times.
  bool waits_for_steps = false;
  const std::atomic<bool>* cancelled_by_caller = nullptr;  // SessionOptions::cancelled
  std::atomic<bool> cancelled{false};
  /// Whether the caller brings the memory of outputs.
  bool outputs_are_bound = false;
  /// Whether a default plan (exec::Plan::is_default) was among those prepared.
  bool has_default_plans = false;
  /// Steps of the run in progress.
  std::vector<exec::StepTime> times;
  exec::PreparationTimes preparation;  // of all programs so far
  /// Programs of one session never run at the same time, so they share it.
  exec::WorkMemory memory;
  exec::StepChains chains;
  OutputPool results;
};

}  // namespace fettle::runtime
