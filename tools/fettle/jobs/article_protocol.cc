#include "jobs/article_protocol.h"

#include <vector>

#include "base/clock.h"
#include "device/cpu/cpu_device.h"
#include "io/inputs.h"
#include "jobs/interrupt.h"
#include "tensor/reorder.h"
#include "tuner/measure/workbench.h"

namespace fettle::tools {
namespace {

/// Puts noise into the inputs: zeros may take less time.
Status WriteNoise(uint64_t seed, const kernels::BoundKernel& kernel, Stream& stream) {
  std::vector<std::vector<std::byte>> bytes;
  for (const kernels::Operand& operand : kernel.operands().inputs) {
    ASSIGN_OR_RETURN(const Tensor noise,
                     SeedTensor("noise", operand.dtype, operand.shape, /*image=*/false, seed));
    bytes.emplace_back(StateBytes(operand.shape, operand.state));
    Reorder(operand.shape, {.storage = operand.dtype}, noise.data(), operand.state,
            bytes.back().data());
  }
  const std::vector<std::span<const std::byte>> contents(bytes.begin(), bytes.end());
  RETURN_IF_ERROR(kernel.WriteInputs(contents, stream));
  return stream.Synchronise();
}

}  // namespace

double ArticleTime::GflopsOf1024Cubed(double operations) const {
  constexpr double kGiga = 1024.0 * 1024 * 1024;
  return ms > 0 ? operations / kGiga / (ms * 1e-3) : 0;
}

Result<ArticleTime> TimeAsArticle(const std::function<Status()>& run,
                                  const std::function<int64_t()>& take_event_ns) {
  int64_t begin = 0;
  for (int i = -kArticleWarmUps; i < kArticleRuns; ++i) {
    if (InterruptScope::Interrupted()) return Error(StatusCode::kCancelled, "interrupted");
    if (i == 0) {
      take_event_ns();
      begin = NowNs();
    }
    RETURN_IF_ERROR(run());
  }
  const int64_t clock_ns = NowNs() - begin, event_ns = take_event_ns();
  const auto ns = static_cast<double>(event_ns >= 0 ? event_ns : clock_ns);
  return ArticleTime{ns * 1e-6 / kArticleRuns, event_ns >= 0};
}

Result<ArticleTime> TimeAsArticle(const tuner::Candidate& candidate, const DeviceSet& devices,
                                  uint64_t seed) {
  const Device& device = *devices.Find(candidate.kernel->device());
  const auto& cpu = static_cast<const CpuDevice&>(devices.cpu());
  tuner::Workbench bench(
      devices, NowNs, [] { return int64_t{0}; }, /*await=*/nullptr, /*cold_constants=*/false);
  ASSIGN_OR_RETURN(const kernels::BoundKernel kernel, bench.Bind(candidate));
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream,
                   device.NewStream({.threads = candidate.problem.threads,
                                     .timed = true,
                                     .share_out = ShareOutBy(cpu.pool())}));
  RETURN_IF_ERROR(WriteNoise(seed, kernel, *stream));
  return TimeAsArticle(
      [&]() -> Status {
        RETURN_IF_ERROR(kernel.Launch(*stream));
        return stream->Synchronise();
      },
      [&] { return stream->TakeBusyNs(); });
}

}  // namespace fettle::tools
