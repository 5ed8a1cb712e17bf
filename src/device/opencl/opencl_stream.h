// An in-order command queue of an OpenCL device.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "device/gated_launches.h"
#include "device/mapped_tensor.h"
#include "device/marks_memory.h"
#include "device/opencl/launch_graphs.h"
#include "device/opencl/opencl_device.h"
#include "device/opencl/spin_gate.h"
#include "device/staging.h"

namespace fettle {

/// Global and local work sizes; a local size of 0 leaves the whole choice to the driver. `gws` is
/// rounded up to multiples of `lws`: kernels return where their index along the first two axes is
/// outside. Ours do not look at the third, which `lws` has to cut evenly.
struct WorkSizes {
  std::array<size_t, 3> gws{1, 1, 1};
  std::array<size_t, 3> lws{0, 0, 0};
  /// Whether any work-group does: work-items know each other not, and tell their place by
  /// get_global_id alone. Others are compiled for one size.
  bool any_group = false;
};

/// A launch that becomes part of a chain. The kernel lives as long as whoever launches it.
struct ChainCall {
  const OpenClKernel* kernel;
  WorkSizes sizes;
  std::vector<KernelArg> args;
};

/// `lws` with axes halved until at most `items` are left, last axis first; one that is odd becomes
/// 1. What is a multiple of `lws` stays one.
std::array<size_t, 3> SmallerGroup(std::array<size_t, 3> lws, size_t items);

/// An event of a command, released with its last owner.
using OpenClEvent = std::shared_ptr<std::remove_pointer_t<cl_event>>;

/// How long a finished command took by the device's clock; 0 where the driver does not say.
double DurationMs(const OpenClApi& api, cl_event event);

/// Belongs to one thread at a time.
class OpenClStream final : public HoldingStream, public MarksMemory {
 public:
  static Result<std::unique_ptr<OpenClStream>> Create(std::shared_ptr<const OpenClDevice> device,
                                                      const StreamOptions& wanted = {});
  ~OpenClStream() override;

  /// Enqueues a launch. A work-group larger than the kernel takes (OpenClKernel::most_items), or
  /// that the driver refuses, becomes smaller where any does (WorkSizes::any_group), which the
  /// kernel remembers. kDeviceError where the driver refuses the launch, kBusy where the host has
  /// any part of an argument mapped. Waits for its end only where the
  /// program has never been launched before and a cache is to remember that it may be, and while
  /// the pace of a kernel is learned (StreamOptions::kernel_ms). Kernels whose launches may be
  /// split tell their place by get_global_id alone.
  Status Launch(const OpenClKernel& kernel, const WorkSizes& sizes,
                std::initializer_list<KernelArg> args) {
    return Launch(kernel, sizes, std::span<const KernelArg>(args.begin(), args.size()));
  }
  Status Launch(const OpenClKernel& kernel, const WorkSizes& sizes,
                std::span<const KernelArg> args);

  Status Write(const DeviceMemory& to, int64_t offset, const void* from, int64_t bytes) override;
  Status Read(void* to, const DeviceMemory& from, int64_t offset, int64_t bytes) override;
  Status MarkFresh(const DeviceMemory& memory, int64_t offset, int64_t bytes) override;
  /// The same for a buffer that only its location is known of.
  Status WriteBuffer(const Location& to, const void* from, int64_t bytes);
  Status ReadBuffer(void* to, const Location& from, int64_t bytes);
  Result<std::unique_ptr<MappedTensor>> Map(const DeviceTensor& tensor, const HostForm& host,
                                            MapAccess access) override;

  Status Synchronise() override;
  bool holds() const override {
    return !device_->facts().is_cpu && options_.kernel_ms <= 0 && options_.queue_window <= 0;
  }
  Status Hold(double us) override;
  int64_t waited_ns() const override { return waited_ns_; }
  int64_t TakeBusyNs() override;
  Result<std::unique_ptr<LaunchChain>> MakeChain(const std::function<Status()>& launches,
                                                 int groups) override;
  /// MakeChain on a device of which nobody knows whether it runs chains.
  Result<std::unique_ptr<LaunchChain>> BuildChain(const std::function<Status()>& launches,
                                                  int groups);
  Result<bool> ChainsMet() override;
  bool replays() const override {
    return !held_ && options_.kernel_ms <= 0 && options_.queue_window <= 0 && !options_.timed &&
           device_->graphs() != nullptr;
  }
  Result<std::unique_ptr<LaunchChain>> MakeGraph(const std::function<Status()>& launches) override;
  LaunchForm TakeForm() override;

  Transfers transfers() const override { return transfers_; }
  void CountMap(bool copies, int64_t bytes) {
    ++transfers_.maps;
    if (copies) CountCopy(bytes);
  }
  void CountConversion() { ++transfers_.conversions; }

  /// kTickets ints, 0 between launches: work-groups of a launch that wait for the last of them draw
  /// one each of the same place, and the last puts 0 back. Only where the device has instructions
  /// for matrices (MmaFacts); elsewhere no memory.
  Location tickets() const { return tickets_ == nullptr ? Location{} : tickets_->location(); }
  static constexpr int64_t kTickets = 1024;

  const OpenClDevice& device() const { return *device_; }
  cl_command_queue queue() const { return queue_; }

 private:
  OpenClStream(std::shared_ptr<const OpenClDevice> device, cl_command_queue queue,
               const StreamOptions& options);
  using Extents = std::array<size_t, 3>;
  friend class OpenClChain;
  friend class OpenClGraph;
  friend class OpenClMapping;
  void CountCopy(int64_t bytes) {
    ++transfers_.copies;
    transfers_.copied_bytes += bytes;
  }
  Status CheckNotMapped(std::span<const KernelArg> args) const;
  /// kUnsupported while launches become a chain.
  Status CheckMayTransfer() const;
  Status ResetChains();
  /// What `launches` would enqueue, which is launches alone. kUnsupported where that is nothing.
  Result<std::vector<ChainCall>> Record(const std::function<Status()>& launches);
  /// Waits for the launches of graphs, which have a queue of their own.
  Status WaitForGraph();
  /// Waits for OpenCL's queue, where it has commands that nobody has waited for.
  Status FinishQueue();
  /// Before a command of OpenCL's.
  Status TakeTurn();
  /// Where CUDA finds a buffer whose bytes CUDA should copy because it used the device last.
  /// Neither queue has pending work then.
  Result<std::optional<cuda::Address>> CopiedByCuda(cl_mem memory);
  /// By the queue of graphs, where that was used last: a change of queues takes the device 0.2 ms.
  /// False: nothing was done, and OpenCL has to do it.
  Result<bool> LaunchBesideGraphs(const ChainCall& call);
  Result<bool> WriteBesideGraphs(const Location& to, const void* from, int64_t bytes);
  Result<bool> ReadBesideGraphs(void* to, const Location& from, int64_t bytes);
  /// A transfer of `bytes` beside graphs, by pinned memory where there is some.
  Status TransferBesideGraphs(int64_t bytes, const std::function<Status(Staging*)>& transfer);
  std::optional<cuda::Address> AddressBesideGraphs(const Location& at) const;
  void NoteForm(const OpenClKernel& kernel, const WorkSizes& sizes);
  Status SetArguments(const OpenClKernel& kernel, std::span<const KernelArg> args);
  /// One command over `gws`, a multiple of the group of `sizes`, which becomes smaller where it is
  /// refused; its event where `wants_event`, or where the options need one.
  Result<OpenClEvent> Enqueue(const OpenClKernel& kernel, const Extents& offset, const Extents& gws,
                              const WorkSizes& sizes, bool wants_event);
  /// As many commands as the cap asks for; the last one's event.
  Result<OpenClEvent> EnqueueSplit(const OpenClKernel& kernel, const WorkSizes& sizes,
                                   std::span<const KernelArg> args);
  /// The same of a part of a launch, cut along `axis`; where one step of it would take too long, or
  /// was never measured, the step along an axis below. `forecast_ms`: of the part, from now on.
  Result<OpenClEvent> EnqueuePart(const OpenClKernel& kernel, const WorkSizes& sizes,
                                  std::span<const KernelArg> args, size_t axis, Extents offset,
                                  Extents gws, double& forecast_ms);
  /// A piece of `steps`, waited for where more than ever are taken at once.
  Result<OpenClEvent> EnqueuePiece(const OpenClKernel& kernel, const WorkSizes& sizes,
                                   const Extents& offset, const Extents& gws, int64_t steps,
                                   const std::shared_ptr<LaunchPace>& pace);
  Status Measure(const OpenClEvent& event, int64_t start_ns, int64_t steps, LaunchPace& pace);
  void LearnFromFinished();
  Status Wait(const OpenClEvent& event);
  /// The code of `call`, which waits.
  cl_int Waited(auto call) {
    const int64_t begin = NowNs();
    const cl_int code = call();
    waited_ns_ += NowNs() - begin;
    return code;
  }
  /// Where a driver puts the event of a transfer; null where nobody asks for it.
  cl_event* EventOfTransfer(cl_event& event) const { return options_.timed ? &event : nullptr; }
  /// Lets the host write or read the device's bytes where they are.
  Status ThroughMap(const Location& at, int64_t bytes, cl_map_flags flags, std::string_view what,
                    const std::function<void(std::byte* there)>& transfer);
  /// Through which a transfer of that many bytes goes; null: the driver does it.
  Staging* StagingFor(int64_t bytes);
  /// A transfer of `bytes` at `host` between two memories: by enqueue(waits, event) where the
  /// driver does it well, otherwise by stage(staging). transfers.cc alone calls it.
  template <typename ByDriver, typename ByPieces>
  Status CrossMemories(const void* host, int64_t bytes, std::string_view what,
                       const ByDriver& enqueue, const ByPieces& stage);
  /// Waits for a transfer from or to pinned memory, which was enqueued with `code`.
  Status FinishPinned(cl_int code, cl_event event, std::string_view what);
  Status MakeTickets();
  Status FinishTransfer(cl_int code, cl_event event, std::string_view what);
  OpenClEvent Own(cl_event event) const;
  Status WaitForWindow(const OpenClEvent& event);

  std::shared_ptr<const OpenClDevice> device_;
  cl_command_queue queue_;
  StreamOptions options_;
  std::shared_ptr<DeviceMemory> tickets_;
  std::unique_ptr<OpenClGate> gate_;  // since the first Hold
  std::deque<OpenClEvent> window_;    // of commands that may be unfinished, oldest first
  /// Pieces of launches whose time is not looked at yet, oldest first.
  struct Piece {
    OpenClEvent event;
    int64_t steps;
    std::shared_ptr<LaunchPace> pace;
  };
  std::deque<Piece> pieces_;
  std::vector<OpenClEvent> timed_;    // of commands that TakeBusyNs has not told of
  std::unique_ptr<Staging> staging_;  // since it was first wanted
  int64_t waited_ns_ = 0;
  Transfers transfers_;
  // chains.cc
  std::vector<ChainCall>* recorded_ = nullptr;  // what is launched becomes a chain
  std::shared_ptr<DeviceMemory> chain_state_;   // of their barrier; since the first chain
  int64_t chained_ns_ = 0;                      // when the first one since ChainsMet was enqueued
  LaunchForm form_;
  // replays.cc
  std::unique_ptr<cuda::Queue> graph_queue_;  // since the first graph
  std::unique_ptr<Staging> graph_staging_;    // of that queue
  bool has_graphs_turn_ = false;              // the last command was that queue's
  bool is_dirty_ = true;  // OpenCL's queue has commands that nobody has waited for
  bool held_ = false;     // by Hold, since Synchronise
};

}  // namespace fettle
