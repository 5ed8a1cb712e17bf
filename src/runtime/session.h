// Running a model: prepares a program per set of input shapes, keeps a bounded number of them, and
// runs them.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "base/status.h"
#include "base/subnormals.h"
#include "exec/profile.h"
#include "planner/plan_source.h"
#include "runtime/bindings.h"
#include "runtime/model.h"
#include "runtime/run_inputs.h"
#include "tensor/tensor.h"

namespace fettle::runtime {

struct SessionOptions {
  /// Threads of the CPU, the caller included; 0: all cores that the process may use.
  int threads = 0;
  /// Takes fewer of them for runs on the CPU alone where that was faster lately (lane_choice.h).
  bool adapts_lanes = true;
  /// Runs every operator through its scalar reference.
  bool reference_only = false;
  /// Values of the model (by the names in its file) to return besides its outputs.
  std::vector<std::string> extra_outputs;
  /// Who plans; null: the model's own plans, or the kernels' preferences where it has none.
  std::shared_ptr<planner::PlanSource> plans;
  /// Devices beside the CPU, at most one of each backend; none: the CPU alone. Before anything is
  /// measured the first one's kernels are taken wherever it has some; where it has none the others
  /// compute, or the CPU.
  std::vector<std::shared_ptr<const Device>> accelerators;
  /// Fails with kUnsupported, naming the reasons, where no device beside the CPU can compute a
  /// node.
  bool accelerator_only = false;
  planner::Precision precision = planner::Precision::kHigh;
  /// Judges the first run of default plans that round values to 16 bits by what the CPU computes
  /// from the same inputs in f32: where they lose too much the session computes in f32 from then
  /// on, that run included, and warns. Costs an inference of the CPU, once. Measured plans are
  /// judged as they are made.
  bool judges_first_run = true;
  /// Has the CPU answer while the devices beside it get ready: Session::start tells of it.
  bool starts_fast = false;
  /// The memory of tensors beside the CPU, where kernels leave a choice; kHost: any.
  MemoryKind memory = MemoryKind::kHost;
  /// How devices beside the CPU are left to others.
  int queue_window = 0;
  double kernel_ms = 0;
  /// Waits for the step's device after each step, so that profile() holds the steps' own times (by
  /// the device's clock where it has one); otherwise it holds what enqueueing them took.
  bool waits_for_steps = false;
  /// Set from any thread: runs and preparations end as after Cancel; null: never. Outlives the
  /// session.
  const std::atomic<bool>* cancelled = nullptr;
  /// What the CPU's kernels make of subnormal numbers, on the calling thread during a run and on
  /// the session's own; references keep them always.
  Subnormals subnormals = Subnormals::kFlush;
  /// How many preparations (one per set of input shapes) are kept.
  int max_preparations = 8;
  /// Bytes of host memory that what the session makes may take together: packed constants, work
  /// memory and results that are alive. What would pass it fails with kOutOfMemory before it is
  /// allocated. 0: MemoryBudget::Process, which is one for all.
  int64_t max_memory = 0;

  /// The first of `accelerators`, null: none.
  const Device* accelerator() const {
    return accelerators.empty() ? nullptr : accelerators[0].get();
  }
  std::vector<const Device*> beside_cpu() const {
    std::vector<const Device*> devices;
    for (const auto& device : accelerators) devices.push_back(device.get());
    return devices;
  }
};

struct MemoryInfo {
  int64_t arena_bytes = 0;   // planned activations and workspace, the largest of all preparations
  int64_t weight_bytes = 0;  // constants of the model
  int64_t packed_bytes = 0;  // their packed forms, shared by all sessions of the model
  int64_t device_bytes = 0;  // activations and workspace in the memory of other devices
  int64_t live_bytes = 0;    // of those, what is alive at once: the least that a plan needs
};

/// How far a session is whose options say starts_fast.
struct StartState {
  enum class Stage {
    kWhole,   // it does not start so
    kOnCpu,   // while a thread of its own prepares the devices beside it
    kMoved,   // they compute
    kStayed,  // the CPU goes on, since they cannot
  };
  Stage stage = Stage::kWhole;
  int64_t cpu_runs = 0;
  double seconds = 0;  // from the session's creation to the move, or to now
  std::string reason;  // of kStayed
};

class FastStart;

/// The most threads that a session may have.
inline constexpr int kMaxThreads = 1024;
/// kInvalidArgument unless it is 0 (all cores) to kMaxThreads.
Status CheckThreads(int threads);

/// Belongs to one thread at a time (Cancel excepted).
class Session {
 public:
  /// Fails with kNotFound where an extra output is no value of the model.
  static Result<std::unique_ptr<Session>> Create(std::shared_ptr<const Model> model,
                                                 SessionOptions options);
  /// As Create of options that start fast, for devices that take a while to open: the thread that
  /// gets them ready begins with `opens`, which says the options of the session that takes over,
  /// and may end after the session was told to. Where it fails, or names no device, the CPU stays.
  /// `on_cpu` has no device; `devices` is what start() and the log call them before.
  static Result<std::unique_ptr<Session>> CreateOpening(
      const std::shared_ptr<const Model>& model, SessionOptions on_cpu, const std::string& devices,
      const std::function<Result<SessionOptions>()>& opens);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Plans, packs and allocates for these input shapes, so that the first Run need not. Optional.
  Status Prepare(const std::map<std::string, Shape>& input_shapes);
  /// One inference. `inputs` are row-major tensors of the inputs' types, one per model input; they
  /// are only read. `outputs` gets one row-major tensor per output, which the caller may keep.
  /// Fails with kInvalidArgument on wrong names, types or shapes, kCancelled after Cancel.
  Status Run(const TensorMap& inputs, TensorMap* outputs);
  /// One inference on tensors of the caller's (tensor_buffer.h), which may lie in the memory of the
  /// session's accelerator. `outputs`, for any of the model's outputs, are written; `results` gets
  /// the others. Memory is used in place where the whole graph is one program on its device (a
  /// tensor in the form that the plan gives it costs no step at all), elsewhere through maps:
  /// transfers() and the tensors' own tell. Fails as Run does, with kNotFound on unknown outputs,
  /// kBusy where one of the tensors is mapped or another run writes it.
  Status RunOn(const BufferMap& inputs, const BufferMap& outputs, TensorMap* results);
  /// Prepare for the tensors that RunOn will be called with.
  Status PrepareOn(const BufferMap& inputs, const BufferMap& outputs);
  /// Where the options say starts_fast, the CPU runs first, and another thread prepares the devices
  /// for the shapes that it sees, which computes one run for each, too. The first run that finds
  /// them ready is theirs, and all that follow; one line through the log says so, or says why the
  /// CPU stays, which is no failure, not with accelerator_only either.
  StartState start() const;
  /// Makes a Run in progress return kCancelled after the operator it is in. From any thread.
  void Cancel();

  /// What the calling thread itself did in the last Run: its time but for CPU kernels and for
  /// waiting for other devices.
  int64_t host_ns() const;
  /// What ran in the last Run, in order.
  const std::vector<exec::StepProfile>& profile() const;
  MemoryInfo memory() const;
  /// What all preparations so far took.
  const exec::PreparationTimes& preparation() const;
  /// To and from devices beside the CPU, by all runs so far.
  Transfers transfers() const;
  int threads() const;
  /// How many of them the last Run took at most (SessionOptions::adapts_lanes).
  int lanes() const;
  Subnormals subnormals() const;
  DeviceSet devices() const;
  const planner::Limits& limits() const;
  const Model& model() const;

 private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  static Result<std::unique_ptr<Session>> CreateOn(std::shared_ptr<const Model> model,
                                                   const SessionOptions& options,
                                                   std::shared_ptr<MemoryBudget> budget);
  static Result<std::unique_ptr<Session>> CreateFast(const std::shared_ptr<const Model>& model,
                                                     const SessionOptions& options,
                                                     const std::shared_ptr<MemoryBudget>& budget);
  void MoveIfReady();

  std::unique_ptr<Impl> impl_;
  mutable std::mutex move_mutex_;  // of impl_ itself, for who cancels
  const std::atomic<bool>* cancelled_ = nullptr;
  std::unique_ptr<FastStart> start_;  // null: none
};

}  // namespace fettle::runtime
