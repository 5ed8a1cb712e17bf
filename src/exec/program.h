// A program: a plan made ready to run, with prepared kernels, packed constants and a static memory
// plan.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "exec/choose_windows.h"
#include "exec/device_marks.h"
#include "exec/kept_kernel.h"
#include "exec/memory_plan.h"
#include "exec/packed_store.h"
#include "exec/plan.h"
#include "exec/profile.h"
#include "exec/step_chains.h"
#include "exec/work_memory.h"
#include "kernels/takes_extents.h"

namespace fettle::exec {

class NearPrograms;

/// What a run works on. Inputs are row-major and may have any alignment; outputs come from
/// AllocateHost or a device's AllocateForTransfers.
struct RunArgs {
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;  // null where the graph output is a constant
  const WorkMemory& memory;             // reserved for memory_plan()
  CpuStream& stream;
  /// Of the devices beside the CPU, as DeviceSet::beside_cpu().
  std::span<const std::unique_ptr<Stream>> accelerators;
  const std::atomic<bool>& cancelled;
  std::vector<StepTime>* times;  // steps are appended
  /// Waits for the step's device after each step, so that its times are those of the step: by the
  /// device's clock where it has one, but for what crosses devices.
  bool waits_for_steps = false;
  const std::atomic<bool>* cancelled_by_caller = nullptr;  // null: no other flag
  /// Whether the run waits for devices beside the CPU at its end: where outputs are left there.
  bool waits_for_devices = false;
  StepChains* chains = nullptr;  // null: steps are launched one by one
};

/// What a program's host memory is beside its packed constants, in bytes.
struct MemoryBeside {
  int64_t outputs = 0;    // that a run will allocate
  int64_t work_held = 0;  // of the work memory, already there
};

/// Immutable after Build; may run on several threads at once with distinct arguments.
class Program {
 public:
  /// Packs constants on all threads of the CPU's pool. Fails with kCancelled soon after `cancelled`
  /// (null: no flag) is set, and with kOutOfMemory, before anything is packed, where the packed
  /// constants, the work memory of the host and `memory` beside them pass the limit together.
  static Result<std::unique_ptr<Program>> Build(Plan plan, const DeviceSet& devices,
                                                PackedStore& packed,
                                                const std::atomic<bool>* cancelled = nullptr,
                                                MemoryBeside memory = {});

  const MemoryPlan& memory_plan() const { return memory_; }
  /// At the extents that it was made for first, where it was made again for others (NearPrograms).
  const Plan& plan() const { return *plan_; }
  /// What Build took.
  const PreparationTimes& build_times() const { return build_times_; }
  Status Run(const RunArgs& args) const;

 private:
  friend class NearPrograms;  // makes some without Build
  friend class NearNumbers;
  struct Step {
    std::shared_ptr<kernels::PreparedKernel> kernel;
    std::shared_ptr<const kernels::Match> match;  // which outlives it; null: the plan's
    const kernels::KernelDesc* other = nullptr;   // in place of the plan's kernel
    std::vector<std::shared_ptr<const PackedBlob>> blobs;
    std::vector<std::shared_ptr<DeviceMemory>> copies;  // of the blobs, on a device beside the CPU
    std::vector<Location> packed;
    std::shared_ptr<const StepProfile> profile;
    int device = 0;                // in DeviceSet::all()
    int threads = 0;               // that it runs on at most; 0: as many as are planned
    bool nothing_to_do = false;    // its outputs are views, or empty
    bool crosses_devices = false;  // a conversion that waits
    bool is_shared = false;        // with programs of other plans (PlannedStep::kept)
    bool writes_window = false;
    bool is_own = false;                     // writes or joins windows, which other plans may lack
    bool has_later_numbers = false;          // those of the profile are numbers_'s
    bool may_move = false;                   // made by TakesExtents, with the example's blobs
    kernels::TakesExtents* takes = nullptr;  // the kernel, where it may move
  };
  /// By step: what it wants packed.
  using Requests = std::vector<std::vector<kernels::PackRequest>>;

  Program() = default;
  static uint64_t NextId() {
    static std::atomic<uint64_t> next{0};
    return next++;
  }
  Status Prepare(const DeviceSet& devices, PackedStore& packed, const std::atomic<bool>* cancelled,
                 MemoryBeside memory);
  static bool IsSet(const std::atomic<bool>* flag) {
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  }
  static Status Cancelled() { return Error(StatusCode::kCancelled, "cancelled"); }
  static const Device& DeviceAt(const DeviceSet& devices, int index) {
    return *devices.all()[index];
  }

  // prepared_steps.cc
  /// Those of all steps, whose devices are known.
  Status PrepareKernels(const DeviceSet& devices, const std::atomic<bool>* cancelled,
                        std::vector<StepProfile>& profiles);
  /// That of one step, and the work that it does.
  Status PrepareKernel(size_t index, const DeviceSet& devices, const std::atomic<bool>* cancelled,
                       StepProfile& profile);
  void PrepareOthersAhead(const DeviceSet& devices, const std::atomic<bool>* cancelled) const;

  /// Takes what another program made of the step, if one did.
  static bool TakeKept(const PlannedStep& planned, Step& step);
  /// Keeps what others may take.
  void KeepSteps() const;
  Requests PackRequests() const;
  Status PackAll(const DeviceSet& devices, PackedStore& packed, const std::atomic<bool>* cancelled,
                 const Requests& requests, std::vector<StepProfile>& profiles);
  /// Those that make or join `windows`, and those that might.
  void MarkOwn(std::span<const TensorWindow> windows);
  /// What the steps need of memory, and which of them write windows. `outline`: that of a program
  /// of the same plan, or empty, which gets this one's where it does not fit; or null.
  std::vector<TensorWindow> PlanSteps(const DeviceSet& devices, MemoryOutline* outline = nullptr);
  /// What lies already where a join would copy it to is neither read nor written by the join.
  static void LeaveOutWindows(const Plan& plan, std::span<const TensorWindow> windows,
                              std::span<const int64_t> bytes, std::vector<StepProfile>& profiles);
  Status CheckMemory(PackedStore& packed, MemoryBeside memory, const Requests& requests) const;
  void KeepProfiles(std::vector<StepProfile>& profiles);
  static Status Pack(std::span<const kernels::PackRequest> requests, const PlannedStep& planned,
                     const Device& device, PackedStore& packed, Step& step, StepProfile& profile);
  StepProfile Describe(const PlannedStep& step) const;
  Location Locate(int tensor, const RunArgs& args) const;
  /// Of a step beside the CPU.
  static Stream& StreamOf(const Step& step, const RunArgs& args) {
    return *args.accelerators[step.device - 1];
  }
  Status RunStep(size_t index, const RunArgs& args) const;
  /// What the step took that started at `begin`.
  Result<int64_t> StepNs(size_t index, int64_t begin, const RunArgs& args) const;
  /// How the step that just ran was launched, where runs wait for steps.
  std::shared_ptr<const LaunchForm> FormOf(size_t index, const RunArgs& args) const;
  /// All steps, and what they have enqueued where the run waits for that.
  Status RunSteps(const RunArgs& args) const;

  // chained_steps.cc
  static StepProfile DescribeChain(const StepChain& chain, std::span<const Step> steps);
  /// All that the steps of a chain read and write.
  std::vector<Location> OperandsOf(const StepChain& chain, const RunArgs& args) const;
  /// Runs the chain that begins with step `index`, and says where it ends; `index` where there is
  /// none, or none that can be launched. Only where args.chains are.
  Result<size_t> RunChain(size_t index, const RunArgs& args) const;
  /// Enqueues launches of the steps from `begin` to `end`.
  Status LaunchSteps(int begin, int end, const RunArgs& args) const;
  /// Whether all chains of the run have computed what they should.
  Result<bool> ChainsMet(const RunArgs& args) const;
  Status CopyOutputs(const RunArgs& args) const;

  // graphed_steps.cc
  /// Steps that one device does without the host: what its driver may replay.
  struct Graph {
    StepChain steps;
    std::vector<int> tensors;  // that they read or write outside of the work memory
    std::shared_ptr<const StepProfile> profile;
  };
  void FindGraphs();
  Graph GraphOf(int begin, int end) const;
  /// RunChain's like for graphs.
  Result<size_t> RunGraph(size_t index, const RunArgs& args) const;

  std::shared_ptr<const Plan> plan_;
  std::vector<int64_t> bytes_;         // of each tensor
  std::vector<TensorWindow> windows_;  // none of what NearPrograms made
  MemoryPlan memory_;
  PreparationTimes build_times_;
  std::vector<Step> steps_;
  std::shared_ptr<const StepNumbers> numbers_;  // null: profiles have them all
  const NearPrograms* maker_ = nullptr;         // which numbers_ keep; null: Build
  /// As plan_.chains.
  std::vector<std::shared_ptr<const StepProfile>> chain_profiles_;
  std::vector<Graph> graphs_;     // in order
  const uint64_t id_ = NextId();  // of no other program of the process
};

}  // namespace fettle::exec
