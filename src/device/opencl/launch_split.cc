// Launches of a stream with a cap on their time: pieces of the last axis, and of those below where
// one step of it takes too long, by global offsets.
#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"
#include "device/capped_launches.h"
#include "device/opencl/opencl_stream.h"

namespace fettle {
namespace {

/// Finished pieces are looked at with each launch; more than that are not remembered.
constexpr size_t kMostPieces = 4096;
/// Rows that take less, in milliseconds, are not split: a launch costs a good part of that.
constexpr double kShortRow = 0.05;
/// Items of a step where the driver chooses the work-group.
constexpr size_t kFreeStep = 16;

size_t LastAxis(const std::array<size_t, 3>& gws) { return gws[2] > 1 ? 2 : gws[1] > 1 ? 1 : 0; }

/// Items per step: whole work-groups, and sizes that the driver divides well.
size_t StepOf(const WorkSizes& sizes, size_t axis) {
  if (sizes.lws[0] > 0) return sizes.lws[axis];
  size_t step = 1;
  while (step < kFreeStep && sizes.gws[axis] % (2 * step) == 0) step *= 2;
  return step;
}

/// The next axis below `axis` along which the part has more than one step; `axis` where none has.
size_t AxisBelow(const WorkSizes& sizes, const std::array<size_t, 3>& gws, size_t axis) {
  for (size_t below = axis; below-- > 0;)
    if (gws[below] > StepOf(sizes, below)) return below;
  return axis;
}

/// Times depend on work sizes and on scalar arguments, such as the depth of a product.
uint64_t HashOf(const WorkSizes& sizes, const std::array<size_t, 3>& gws, size_t axis,
                std::span<const KernelArg> args) {
  uint64_t hash = HashBytes(std::as_bytes(std::span(gws)), axis);
  hash = HashBytes(std::as_bytes(std::span(sizes.lws)), hash);
  for (const KernelArg& arg : args) {
    if (!arg.is_memory())
      hash = HashBytes({static_cast<const std::byte*>(arg.data()), arg.size()}, hash);
  }
  return hash;
}

bool IsFinished(const OpenClApi& api, cl_event event) {
  cl_int state = CL_QUEUED;
  return api.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state,
                          nullptr) == CL_SUCCESS &&
         state == CL_COMPLETE;
}

}  // namespace

Result<OpenClEvent> OpenClStream::EnqueueSplit(const OpenClKernel& kernel, const WorkSizes& sizes,
                                               std::span<const KernelArg> args) {
  double forecast_ms = 0;
  return EnqueuePart(kernel, sizes, args, LastAxis(sizes.gws), {}, sizes.gws, forecast_ms);
}

Result<OpenClEvent> OpenClStream::EnqueuePart(const OpenClKernel& kernel, const WorkSizes& sizes,
                                              std::span<const KernelArg> args, size_t axis,
                                              Extents offset, Extents gws, double& forecast_ms) {
  const std::shared_ptr<LaunchPace> pace = kernel.PaceOf(HashOf(sizes, gws, axis, args));
  const size_t step = StepOf(sizes, axis), end = offset[axis] + gws[axis];
  const size_t below = AxisBelow(sizes, gws, axis);
  const auto all = static_cast<int64_t>((gws[axis] + step - 1) / step);
  OpenClEvent event;
  for (int64_t left = all; left > 0;) {
    // Within a launch too: the first piece of a kernel may have waited for its code to be loaded.
    LearnFromFinished();
    const int64_t steps = pace->NextSteps(left, options_.kernel_ms);
    gws[axis] = std::min(static_cast<size_t>(steps) * step, end - offset[axis]);
    if (below != axis && steps == 1 &&
        pace->Forecast(1) > std::max(options_.kernel_ms, kShortRow)) {
      double step_ms = 0;
      ASSIGN_OR_RETURN(event, EnqueuePart(kernel, sizes, args, below, offset, gws, step_ms));
      pace->Learn(1, step_ms);
    } else {
      ASSIGN_OR_RETURN(event, EnqueuePiece(kernel, sizes, offset, gws, steps, pace));
    }
    offset[axis] += gws[axis];
    left -= steps;
  }
  forecast_ms = pace->Forecast(all);
  return event;
}

Result<OpenClEvent> OpenClStream::EnqueuePiece(const OpenClKernel& kernel, const WorkSizes& sizes,
                                               const Extents& offset, const Extents& gws,
                                               int64_t steps,
                                               const std::shared_ptr<LaunchPace>& pace) {
  const bool unknown = pace->IsUnknown(steps);
  // Wall time counts where events say nothing, so that nothing else may be under way.
  if (unknown && !pieces_.empty()) RETURN_IF_ERROR(Wait(pieces_.back().event));
  const int64_t start = NowNs();
  ASSIGN_OR_RETURN(OpenClEvent event, Enqueue(kernel, offset, gws, sizes, true));
  if (unknown) {
    RETURN_IF_ERROR(Measure(event, start, steps, *pace));
  } else {
    pieces_.push_back({event, steps, pace});
    if (pieces_.size() > kMostPieces) pieces_.pop_front();
  }
  return event;
}

Status OpenClStream::Measure(const OpenClEvent& event, int64_t start_ns, int64_t steps,
                             LaunchPace& pace) {
  RETURN_IF_ERROR(Wait(event));
  const double wall_ms = static_cast<double>(NowNs() - start_ns) * 1e-6;
  const double ms = DurationMs(device_->api(), event.get());
  pace.Learn(steps, ms > 0 ? ms : wall_ms);
  device_->tally().Add(ms > 0 ? ms : wall_ms, options_.kernel_ms);
  return OkStatus();
}

void OpenClStream::LearnFromFinished() {
  while (!pieces_.empty() && IsFinished(device_->api(), pieces_.front().event.get())) {
    const Piece& piece = pieces_.front();
    const double ms = DurationMs(device_->api(), piece.event.get());
    if (ms > 0) {
      piece.pace->Learn(piece.steps, ms);
      device_->tally().Add(ms, options_.kernel_ms);
    }
    pieces_.pop_front();
  }
}

std::optional<CappedLaunches> CappedLaunchesOf(const Device& device) {
  if (device.kind() != DeviceKind::kOpenCl) return std::nullopt;
  const auto& opencl = static_cast<const OpenClDevice&>(device);
  const double cap_ms = opencl.pacing().kernel_ms;
  if (cap_ms <= 0) return std::nullopt;
  const LaunchCounts counts = opencl.tally().counts();
  return CappedLaunches{cap_ms, counts.launches, counts.over, counts.longest_ms};
}

}  // namespace fettle
