// Launches of a stream with a cap on their time: pieces of the last axis, by global offsets.
#include "base/clock.h"
#include "base/hash.h"
#include "device/opencl/opencl_stream.h"

namespace fettle {
namespace {

/// Finished pieces are looked at with each launch; more than that are not remembered.
constexpr size_t kMostPieces = 64;
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

/// Times depend on work sizes and on scalar arguments, such as the depth of a product.
uint64_t HashOf(const WorkSizes& sizes, std::span<const KernelArg> args) {
  uint64_t hash = HashBytes(std::as_bytes(std::span(sizes.gws)));
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
  const std::shared_ptr<LaunchPace> pace = kernel.PaceOf(HashOf(sizes, args));
  const size_t axis = LastAxis(sizes.gws);
  const size_t step = StepOf(sizes, axis);
  auto left = static_cast<int64_t>((sizes.gws[axis] + step - 1) / step);
  Extents offset{}, gws = sizes.gws;
  OpenClEvent event;
  do {
    // Within a launch too: the first piece of a kernel may have waited for its code to be loaded.
    LearnFromFinished();
    const int64_t steps = pace->NextSteps(left, options_.kernel_ms);
    gws[axis] = std::min(static_cast<size_t>(steps) * step, sizes.gws[axis] - offset[axis]);
    const bool unknown = pace->IsUnknown(steps);
    // Wall time counts where events say nothing, so that nothing else may be under way.
    if (unknown && !pieces_.empty()) RETURN_IF_ERROR(Wait(pieces_.back().event));
    const int64_t start = NowNs();
    ASSIGN_OR_RETURN(event, Enqueue(kernel, offset, gws, sizes, true));
    if (unknown) {
      RETURN_IF_ERROR(Measure(event, start, steps, *pace));
    } else {
      pieces_.push_back({event, steps, pace});
      if (pieces_.size() > kMostPieces) pieces_.pop_front();
    }
    offset[axis] += gws[axis];
    left -= steps;
  } while (left > 0);
  return event;
}

Status OpenClStream::Measure(const OpenClEvent& event, int64_t start_ns, int64_t steps,
                             LaunchPace& pace) {
  RETURN_IF_ERROR(Wait(event));
  const double wall_ms = static_cast<double>(NowNs() - start_ns) * 1e-6;
  const double ms = DurationMs(device_->api(), event.get());
  pace.Learn(steps, ms > 0 ? ms : wall_ms);
  return OkStatus();
}

void OpenClStream::LearnFromFinished() {
  while (!pieces_.empty() && IsFinished(device_->api(), pieces_.front().event.get())) {
    const Piece& piece = pieces_.front();
    const double ms = DurationMs(device_->api(), piece.event.get());
    if (ms > 0) piece.pace->Learn(piece.steps, ms);
    pieces_.pop_front();
  }
}

}  // namespace fettle
