#include "tuner/workbench.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "kernels/cpu/convert/convert.h"

namespace fettle::tuner {
namespace {

/// How long lanes wait for each other before a launch; one whose core is taken is not waited for.
constexpr int64_t kMeetNs = 50'000;

/// Bytes that each lane reads to have nothing else left in its own caches.
int64_t EvictedBytes(const CpuInfo& info) {
  constexpr int64_t kUnknown = 1 << 20, kMost = 8 << 20;
  return std::min(info.l2_bytes > 0 ? info.l2_bytes : kUnknown, kMost);
}

/// The part of `bytes` that lane `i` of `lanes` writes.
void CopyShare(std::span<const std::byte> from, std::byte* to, int64_t i, int64_t lanes) {
  const auto bytes = static_cast<int64_t>(from.size());
  const int64_t begin = bytes * i / lanes, end = bytes * (i + 1) / lanes;
  if (end > begin) std::memcpy(to + begin, from.data() + begin, static_cast<size_t>(end - begin));
}

}  // namespace

Workbench::Workbench(const CpuDevice& device, std::function<int64_t()> now_ns)
    : device_(device),
      now_ns_(std::move(now_ns)),
      memory_(std::make_shared<kernels::OperandMemory>()) {}

Result<kernels::BoundKernel> Workbench::Bind(const Candidate& candidate) {
  const kernels::Operands operands = kernels::OperandsOf(candidate.problem);
  ASSIGN_OR_RETURN(std::unique_ptr<kernels::PreparedKernel> prepared,
                   candidate.kernel->prepare(candidate.problem, candidate.params, device_));
  RETURN_IF_ERROR(Allocate(operands, /*misaligned=*/false, device_, *memory_));
  return kernels::BoundKernel::Bind(std::move(prepared), operands, candidate.problem.group.get(),
                                    memory_, device_);
}

Result<kernels::BoundKernel> Workbench::BindConversion(const kernels::Operand& from,
                                                       const State& to) {
  kernels::Operands operands{{from}, {from}};
  operands.outputs[0].state = to;
  ASSIGN_OR_RETURN(std::unique_ptr<kernels::PreparedKernel> prepared,
                   kernels::PrepareConversion(from.shape, from.state, to, device_));
  RETURN_IF_ERROR(Allocate(operands, /*misaligned=*/false, device_, *memory_));
  return kernels::BoundKernel::Bind(std::move(prepared), std::move(operands), nullptr, memory_,
                                    device_);
}

Status Workbench::Misalign(kernels::BoundKernel& kernel, bool misaligned) {
  RETURN_IF_ERROR(Allocate(kernel.operands(), misaligned, device_, *memory_));
  kernel.PutInPlace(nullptr);
  return OkStatus();
}

void Workbench::MakeReady(const kernels::BoundKernel& kernel,
                          std::span<const std::span<const std::byte>> inputs, CpuStream& stream) {
  const int64_t lanes = std::min(stream.threads(), device_.pool().threads());
  const bool evicts = kernel.packed_bytes() > 0;
  const auto words = static_cast<size_t>(EvictedBytes(device_.info())) / sizeof(uint64_t);
  if (evicts) evictor_.resize(words * static_cast<size_t>(lanes), 1);
  std::atomic<int64_t> met = 0;
  stream.ParallelFor(lanes, [&](int64_t lane, int) {
    met.fetch_add(1);
    const int64_t deadline = NowNs() + kMeetNs;
    while (met.load() < lanes && NowNs() < deadline) {
    }
    if (evicts) {
      constexpr size_t kWordsPerLine = 64 / sizeof(uint64_t);
      const uint64_t* from = evictor_.data() + words * static_cast<size_t>(lane);
      uint64_t sum = 0;
      for (size_t i = 0; i < words; i += kWordsPerLine) sum += from[i];
      [[maybe_unused]] const volatile uint64_t keeps_the_reads = sum;
    }
    for (size_t i = 0; i < inputs.size(); ++i) CopyShare(inputs[i], kernel.input(i), lane, lanes);
  });
}

Result<double> Workbench::TimeUs(const kernels::BoundKernel& kernel,
                                 std::span<const std::span<const std::byte>> inputs,
                                 CpuStream& stream) {
  MakeReady(kernel, inputs, stream);
  const int64_t begin = now_ns_();
  RETURN_IF_ERROR(kernel.Launch(stream));
  RETURN_IF_ERROR(stream.Synchronise());
  return std::max(static_cast<double>(now_ns_() - begin), 1.0) * 1e-3;
}

}  // namespace fettle::tuner
