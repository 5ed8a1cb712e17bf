#include "tuner/measure/workbench.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "device/cpu/cache.h"
#include "kernels/backend.h"
#include "kernels/launch_tunables.h"

namespace fettle::tuner {
namespace {

/// How long a launch that was interrupted is timed again: several of those that most networks are
/// made of, and no second one of those that take longer, of which few run undisturbed.
constexpr int64_t kPatienceNs = 5'000'000;

/// Bytes that each lane reads to have nothing else left in its own caches.
int64_t EvictedBytes(const CpuInfo& info) {
  constexpr int64_t kUnknown = 1 << 20, kMost = 8 << 20;
  return std::min(info.l2_bytes > 0 ? info.l2_bytes : kUnknown, kMost);
}

/// Launches beside the CPU that are timed together take this long, or are so many.
constexpr double kLongEnoughNs = 400'000;
constexpr int kMostLaunches = 64;
/// A launch and waiting for it that take longer are longer than enqueueing another.
constexpr double kLongerThanHostUs = 60;

constexpr size_t kCacheLine = 64;
/// So many pages are read, a line each, so that translations of other addresses go too. A step of a
/// page and a line touches all sets of the caches alike.
constexpr size_t kPages = 2048, kPageStep = 4096 + kCacheLine;

/// Reads every `step` bytes.
void ReadEvery(std::span<const std::byte> bytes, size_t step) {
  unsigned sum = 0;
  for (size_t i = 0; i < bytes.size(); i += step) sum += std::to_integer<unsigned>(bytes[i]);
  [[maybe_unused]] const volatile unsigned keeps_the_reads = sum;
}

/// The part of `bytes` that lane `i` of `lanes` takes.
std::span<const std::byte> ShareOf(std::span<const std::byte> bytes, int64_t i, int64_t lanes) {
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t begin = size * i / lanes, end = size * (i + 1) / lanes;
  return bytes.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

void CopyShare(std::span<const std::byte> from, std::byte* to, int64_t i, int64_t lanes) {
  const std::span<const std::byte> share = ShareOf(from, i, lanes);
  if (!share.empty()) std::memcpy(to + (share.data() - from.data()), share.data(), share.size());
}

/// A conversion to or from the host's memory.
bool WaitsForHost(const kernels::Operands& operands) {
  const auto on_host = [](const kernels::Operand& operand) {
    return operand.state.device == DeviceKind::kCpu;
  };
  return std::ranges::any_of(operands.inputs, on_host) ||
         std::ranges::any_of(operands.outputs, on_host);
}

}  // namespace

bool WorksApart(const Stream& stream) {
  const auto* const holding = dynamic_cast<const HoldingStream*>(&stream);
  return holding != nullptr && holding->holds();
}

Workbench::Workbench(const DeviceSet& devices, std::function<int64_t()> now_ns,
                     std::function<int64_t()> interruptions, std::function<void()> await,
                     bool cold_constants)
    : devices_(devices),
      cpu_(static_cast<const CpuDevice&>(devices.cpu())),
      cpu_stream_(cpu_, 1),
      now_ns_(std::move(now_ns)),
      patience_{now_ns_, std::move(interruptions), kPatienceNs, std::move(await)},
      gated_(now_ns_),
      cold_constants_(cold_constants),
      memory_(std::make_shared<kernels::OperandMemory>()) {}

Result<const Device*> Workbench::DeviceOf(DeviceKind kind) const {
  const Device* device = devices_.Find(kind);
  if (device == nullptr)
    return Error(StatusCode::kDeviceUnavailable, "the device of the kernel is not available");
  return device;
}

Result<Stream*> Workbench::StreamOf(DeviceKind device, int threads) {
  if (device == DeviceKind::kCpu) {
    cpu_stream_.set_threads(threads);
    return &cpu_stream_;
  }
  std::unique_ptr<Stream>& stream = streams_[device];
  if (stream == nullptr) {
    ASSIGN_OR_RETURN(const Device* opened, DeviceOf(device));
    ASSIGN_OR_RETURN(stream, opened->NewStream({.share_out = ShareOutBy(cpu_.pool())}));
  }
  return stream.get();
}

Status Workbench::CheckAlive(DeviceKind device) {
  if (device == DeviceKind::kCpu) return OkStatus();
  ASSIGN_OR_RETURN(const Device* opened, DeviceOf(device));
  const std::array<std::byte, 64> bytes{};
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, opened->NewStream({}));
  ASSIGN_OR_RETURN(const std::shared_ptr<DeviceMemory> memory,
                   opened->Allocate({.kind = MemoryKind::kBuffer, .bytes = std::ssize(bytes)}));
  RETURN_IF_ERROR(stream->Write(*memory, 0, bytes.data(), std::ssize(bytes)));
  return stream->Synchronise();
}

Result<kernels::BoundKernel> Workbench::Bind(const Candidate& candidate) {
  written_ = nullptr;
  const kernels::Operands operands = kernels::OperandsOf(candidate.problem);
  ASSIGN_OR_RETURN(const Device* device, DeviceOf(candidate.kernel->device()));
  ASSIGN_OR_RETURN(std::unique_ptr<kernels::PreparedKernel> prepared,
                   kernels::PrepareWithLaunches(*candidate.kernel, candidate.problem,
                                                candidate.params, *device));
  RETURN_IF_ERROR(Allocate(operands, /*misaligned=*/false, *device, *memory_));
  return kernels::BoundKernel::Bind(std::move(prepared), operands, candidate.problem.group.get(),
                                    memory_, *device);
}

void Workbench::TakeTurns(std::span<kernels::BoundKernel> bound) {
  for (const auto* memories : {&memory_->inputs, &memory_->outputs})
    for (const kernels::GuardedMemory& memory : *memories) memory.Share();
  for (kernels::BoundKernel& kernel : bound)
    kernel.PutInPlace(nullptr);  // a later one may have moved the memory
}

Result<kernels::BoundKernel> Workbench::BindConversion(const kernels::Operand& from,
                                                       const State& to) {
  written_ = nullptr;
  kernels::Operands operands{{from}, {from}};
  operands.outputs[0].state = to;
  ASSIGN_OR_RETURN(const Device* device, DeviceOf(kernels::ConversionDevice(from.state, to)));
  ASSIGN_OR_RETURN(std::unique_ptr<kernels::PreparedKernel> prepared,
                   kernels::PrepareAnyConversion(from.shape, from.state, to, *device));
  RETURN_IF_ERROR(Allocate(operands, /*misaligned=*/false, *device, *memory_));
  return kernels::BoundKernel::Bind(std::move(prepared), std::move(operands), nullptr, memory_,
                                    *device);
}

Status Workbench::Misalign(kernels::BoundKernel& kernel, bool misaligned) {
  written_ = nullptr;
  DeviceKind kind = DeviceKind::kCpu;
  for (const auto* operands : {&kernel.operands().inputs, &kernel.operands().outputs})
    for (const kernels::Operand& operand : *operands)
      if (operand.state.device != DeviceKind::kCpu) kind = operand.state.device;
  ASSIGN_OR_RETURN(const Device* device, DeviceOf(kind));
  RETURN_IF_ERROR(Allocate(kernel.operands(), misaligned, *device, *memory_));
  kernel.PutInPlace(nullptr);
  return OkStatus();
}

void Workbench::Evict(const kernels::BoundKernel& kernel, int64_t lane, int64_t lanes) const {
  if (cold_constants_) {
    for (const std::span<const std::byte> packed : kernel.packed()) {
      const std::span<const std::byte> share = ShareOf(packed, lane, lanes);
      DropFromCaches(share.data(), static_cast<int64_t>(share.size()));
    }
  }
  ReadEvery(pages_, kPageStep);
  ReadEvery(ShareOf(evictor_, lane, lanes), kCacheLine);
}

void Workbench::MakeReady(const kernels::BoundKernel& kernel,
                          std::span<const std::span<const std::byte>> inputs, CpuStream& stream) {
  const int64_t lanes = std::min(stream.threads(), cpu_.pool().threads());
  const bool evicts = kernel.packed_bytes() > 0;
  if (evicts) {
    evictor_.resize(static_cast<size_t>(EvictedBytes(cpu_.info()) * lanes), std::byte{1});
    if (cold_constants_) pages_.resize(kPages * kPageStep, std::byte{1});
  }
  Muster muster(lanes, cpu_.info());
  stream.ParallelFor(lanes, [&](int64_t lane, int) {
    muster.Meet();
    if (evicts) Evict(kernel, lane, lanes);
    for (size_t i = 0; i < inputs.size(); ++i) CopyShare(inputs[i], kernel.input(i), lane, lanes);
  });
}

Result<double> Workbench::TimeUs(const kernels::BoundKernel& kernel,
                                 std::span<const std::span<const std::byte>> inputs,
                                 Stream& stream) {
  if (&stream != &cpu_stream_) return TimeBesideCpuUs(kernel, inputs, stream);
  const auto sample = [&]() -> Result<double> {
    MakeReady(kernel, inputs, static_cast<CpuStream&>(stream));
    const int64_t begin = now_ns_();
    RETURN_IF_ERROR(kernel.Launch(stream));
    RETURN_IF_ERROR(stream.Synchronise());
    return std::max(static_cast<double>(now_ns_() - begin), 1.0) * 1e-3;
  };
  ASSIGN_OR_RETURN(const UndisturbedTime time, TimeUndisturbed(sample, patience_));
  return time.us;
}

Result<double> Workbench::TimeBesideCpuUs(const kernels::BoundKernel& kernel,
                                          std::span<const std::span<const std::byte>> inputs,
                                          Stream& stream) {
  if (patience_.await) patience_.await();
  if (written_ != &kernel) {
    written_ = nullptr;
    RETURN_IF_ERROR(kernel.WriteInputs(inputs, stream));
    RETURN_IF_ERROR(stream.Synchronise());
    written_ = &kernel;
  }
  const bool overlaps = WorksApart(stream) && !WaitsForHost(kernel.operands());
  // More of them until waiting and the clock are small beside it.
  for (int launches = 1;; launches *= 4) {
    const int64_t begin = now_ns_();
    for (int i = 0; i < launches; ++i) RETURN_IF_ERROR(kernel.Launch(stream));
    const auto enqueued_ns = static_cast<double>(now_ns_() - begin);
    RETURN_IF_ERROR(stream.Synchronise());
    const auto ns = static_cast<double>(now_ns_() - begin);
    if (overlaps && launches == 1 && ns * 1e-3 <= kLongerThanHostUs) {
      ASSIGN_OR_RETURN(const auto gated, gated_.Time(static_cast<HoldingStream&>(stream),
                                                     [&] { return kernel.Launch(stream); }));
      if (gated) {
        host_us_.push_back(gated->host_us);
        return gated->device_us;
      }
    }
    if (ns < kLongEnoughNs && launches < kMostLaunches) continue;
    if (overlaps) host_us_.push_back(enqueued_ns * 1e-3 / launches);
    return std::max(ns, 1.0) * 1e-3 / launches;
  }
}

double Workbench::TakeHostUs() {
  const std::vector<double> us = std::exchange(host_us_, {});
  return us.empty() ? 0 : *std::ranges::min_element(us);
}

}  // namespace fettle::tuner
