// The part of a stream that has its launches replayed.
#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "device/cuda/queue_copies.h"
#include "device/opencl/launch_graphs.h"
#include "device/opencl/opencl_stream.h"

namespace fettle {
namespace {

/// Smaller reads go as the driver does them, which copies few bytes with the command.
constexpr int64_t kLeastStaged = 16 << 10;

}  // namespace

/// Waits for what OpenCL's queue has before each replay.
class OpenClGraph final : public LaunchChain {
 public:
  OpenClGraph(OpenClStream& stream, std::vector<ChainCall> calls)
      : stream_(stream), calls_(std::move(calls)) {}

  /// Memory objects that were made since others were released may have their names, and lie
  /// elsewhere.
  Status Record() {
    const uint64_t released = OpenClMemory::released();
    if (recorded_ != nullptr && released == released_) return OkStatus();
    released_ = released;
    const LaunchGraphs& graphs = *stream_.device_->graphs();
    ASSIGN_OR_RETURN(std::vector<cuda::Launch> launches, graphs.LaunchesOf(calls_));
    if (recorded_ != nullptr && SameParameters(launches, launches_)) return OkStatus();
    recorded_.reset();
    launches_ = std::move(launches);
    ASSIGN_OR_RETURN(recorded_, stream_.graph_queue_->Record(launches_));
    return OkStatus();
  }

  Status Enqueue() override {
    if (stream_.device_->mapped().any())
      for (const ChainCall& call : calls_) RETURN_IF_ERROR(stream_.CheckNotMapped(call.args));
    RETURN_IF_ERROR(Record());
    RETURN_IF_ERROR(stream_.FinishQueue());
    stream_.device_->graphs()->set_last(true);
    stream_.has_graphs_turn_ = true;
    return recorded_->Launch();
  }

 private:
  static bool SameParameters(std::span<const cuda::Launch> a, std::span<const cuda::Launch> b) {
    return std::ranges::equal(a, b, {}, &cuda::Launch::parameters, &cuda::Launch::parameters);
  }

  OpenClStream& stream_;
  std::vector<ChainCall> calls_;
  std::vector<cuda::Launch> launches_;  // with the addresses that are recorded
  std::unique_ptr<cuda::Recorded> recorded_;
  uint64_t released_ = 0;
};

Status OpenClStream::FinishQueue() {
  if (!is_dirty_) return OkStatus();
  const cl_int code = Waited([&] { return device_->api().Finish(queue_); });
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: waiting for the device"));
  is_dirty_ = false;
  return OkStatus();
}

Status OpenClStream::TakeTurn() {
  is_dirty_ = true;
  has_graphs_turn_ = false;
  if (const std::shared_ptr<LaunchGraphs> graphs = device_->graphs()) graphs->set_last(false);
  return graph_queue_ == nullptr ? OkStatus() : WaitForGraph();
}

Result<std::optional<cuda::Address>> OpenClStream::CopiedByCuda(cl_mem memory) {
  const std::shared_ptr<LaunchGraphs> graphs = device_->graphs();
  if (graphs == nullptr || !graphs->was_last()) return std::nullopt;
  const std::optional<cuda::Address> address = graphs->memory().AddressOf(memory);
  if (!address) return std::nullopt;
  RETURN_IF_ERROR(FinishQueue());
  if (graph_queue_ != nullptr) RETURN_IF_ERROR(WaitForGraph());
  return address;
}

Status OpenClStream::WaitForGraph() {
  const int64_t begin = NowNs();
  const Status status = graph_queue_->Wait();
  waited_ns_ += NowNs() - begin;
  return status;
}

std::optional<cuda::Address> OpenClStream::AddressBesideGraphs(const Location& at) const {
  if (!has_graphs_turn_ || !replays() || device_->facts().unified_memory) return std::nullopt;
  std::optional<cuda::Address> address =
      device_->graphs()->memory().AddressOf(static_cast<cl_mem>(at.base));
  if (address) *address += at.offset;
  return address;
}

Result<bool> OpenClStream::LaunchBesideGraphs(const ChainCall& call) {
  if (!has_graphs_turn_ || !replays() || call.kernel->program().watched()) return false;
  Result<cuda::Launch> launch = device_->graphs()->LaunchOf(call);
  if (launch.ok()) {
    const Status status = graph_queue_->Launch(*launch);
    if (status.ok()) return true;
    if (status.code() != StatusCode::kUnsupported) return status;
  }
  return false;
}

Status OpenClStream::TransferBesideGraphs(int64_t bytes,
                                          const std::function<Status(Staging*)>& transfer) {
  CountCopy(bytes);
  const int64_t begin = NowNs();
  if (graph_staging_ == nullptr)
    graph_staging_ = std::make_unique<Staging>(std::make_unique<cuda::QueueCopies>(*graph_queue_),
                                               options_.share_out);
  const bool is_staged = bytes >= kLeastStaged && graph_staging_->Reserve(bytes);
  const Status status = transfer(is_staged ? graph_staging_.get() : nullptr);
  waited_ns_ += NowNs() - begin;
  return status;
}

Result<bool> OpenClStream::WriteBesideGraphs(const Location& to, const void* from, int64_t bytes) {
  const std::optional<cuda::Address> address = AddressBesideGraphs(to);
  if (!address) return false;
  RETURN_IF_ERROR(TransferBesideGraphs(bytes, [&](Staging* staging) {
    // The driver reads what the caller has pinned by CUDA's own means after it returns.
    if (staging == nullptr && graph_staging_->Reserve(bytes)) staging = graph_staging_.get();
    if (staging == nullptr) {
      RETURN_IF_ERROR(graph_queue_->Write(*address, from, bytes));
      return graph_queue_->Wait();
    }
    return staging->Write(cuda::QueueCopies::At(*address), static_cast<const std::byte*>(from),
                          bytes);
  }));
  return true;
}

Result<bool> OpenClStream::ReadBesideGraphs(void* to, const Location& from, int64_t bytes) {
  const std::optional<cuda::Address> address = AddressBesideGraphs(from);
  if (!address) return false;
  RETURN_IF_ERROR(TransferBesideGraphs(bytes, [&](Staging* staging) {
    if (staging == nullptr) return graph_queue_->Read(to, *address, bytes);
    return staging->Read(static_cast<std::byte*>(to), cuda::QueueCopies::At(*address), bytes);
  }));
  return true;
}

Result<std::unique_ptr<LaunchChain>> OpenClStream::MakeGraph(
    const std::function<Status()>& launches) {
  const std::shared_ptr<LaunchGraphs> graphs = device_->graphs();
  if (graphs == nullptr) return Unsupported("the device replays no launches");
  ASSIGN_OR_RETURN(std::vector<ChainCall> calls, Record(launches));
  if (graph_queue_ == nullptr) {
    ASSIGN_OR_RETURN(graph_queue_, graphs->NewQueue());
  }
  auto graph = std::make_unique<OpenClGraph>(*this, std::move(calls));
  RETURN_IF_ERROR(graph->Record());
  return std::unique_ptr<LaunchChain>(std::move(graph));
}

std::shared_ptr<LaunchGraphs> OpenClDevice::graphs() const {
  std::call_once(graphs_tried_, [&] {
    Result<std::shared_ptr<LaunchGraphs>> opened = LaunchGraphs::Open(*this);
    if (opened.ok())
      graphs_ = std::move(*opened);
    else
      Log(LogLevel::kInfo, "{}: launches are not replayed: {}", facts_.name,
          opened.status().message());
  });
  return graphs_;
}

Result<std::shared_ptr<DeviceMemory>> OpenClDevice::MakeGraphBuffer(
    const MemoryRequest& request) const {
  ASSIGN_OR_RETURN(SharedBlocks::Buffer buffer, graphs_->memory().Allocate(request.bytes));
  return std::shared_ptr<DeviceMemory>(
      std::make_shared<OpenClMemory>(request, *api_, buffer.memory, std::move(buffer.owner)));
}

}  // namespace fettle
