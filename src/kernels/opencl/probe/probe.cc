#include "kernels/opencl/probe/probe.h"

#include <algorithm>

#include "kernels/opencl/probe/rows.h"

namespace fettle::kernels {
namespace {

constexpr double kLongEnoughNs = 4e6;
constexpr int64_t kLargeBytes = 512 << 20;
/// A processor's caches are small, and its memory slow to fill: for bounds, part of what is read
/// may be found in its last cache level again.
constexpr int64_t kLargeForProcessors = 256 << 20, kLargeForProcessorsBounds = 64 << 20;

}  // namespace

Result<std::unique_ptr<OpenClPlace>> OpenClPlace::Create(const OpenClDevice& device,
                                                         bool for_bounds) {
  auto place = std::make_unique<OpenClPlace>();
  place->device_ = device.shared_from_this();
  place->for_bounds_ = for_bounds;
  ASSIGN_OR_RETURN(place->stream_, device.NewStream({}));
  place->items_ = static_cast<size_t>(device.facts().compute_units) *
                  (device.facts().is_cpu ? kGroup * 2 : kGroup * 16);
  ASSIGN_OR_RETURN(place->results_,
                   device.Allocate({.kind = MemoryKind::kBuffer,
                                    .bytes = static_cast<int64_t>(place->items_) * 4}));
  return place;
}

int64_t OpenClPlace::large_bytes() const {
  const int64_t of_processors = for_bounds_ ? kLargeForProcessorsBounds : kLargeForProcessors;
  const int64_t most = facts().is_cpu ? of_processors : kLargeBytes;
  int64_t bytes = 1 << 20;
  const int64_t limit = facts().max_allocation_bytes;
  while (bytes * 2 <= most && (limit == 0 || bytes * 4 <= limit)) bytes *= 2;
  return bytes;
}

Result<std::shared_ptr<OpenClKernel>> OpenClPlace::MemoryKernel(const std::string& name) const {
  BuildOptions options;
  options.Define("PROCESSOR", facts().is_cpu);
  options.Define("IMAGES", facts().images);
  return device().BuildKernel(MakeProgram("probe/memory.cl", options), name);
}

Result<std::shared_ptr<DeviceMemory>> OpenClPlace::to() {
  if (to_ != nullptr) return to_;
  ASSIGN_OR_RETURN(to_, device().Allocate({.kind = MemoryKind::kBuffer, .bytes = large_bytes()}));
  return to_;
}

Result<std::shared_ptr<DeviceMemory>> OpenClPlace::ones() {
  if (ones_ != nullptr) return ones_;
  ASSIGN_OR_RETURN(const auto memory,
                   device().Allocate({.kind = MemoryKind::kBuffer, .bytes = large_bytes()}));
  constexpr int64_t kPiece = 1 << 20;
  const std::vector<float> piece(kPiece / 4, 1.0F);
  for (int64_t at = 0; at < large_bytes(); at += kPiece)
    RETURN_IF_ERROR(stream().Write(*memory, at, piece.data(), kPiece));
  ones_ = memory;
  return ones_;
}

Result<std::vector<Ceiling>> ProbeOpenCl(const Device& device, const ProbeRequest& request) {
  ASSIGN_OR_RETURN(const auto place, OpenClPlace::Create(AsOpenCl(device), request.for_bounds));
  std::vector<Ceiling> all;
  for (const auto rows : {OpenClArithmeticRows, OpenClBandwidthRows, OpenClQueueRows}) {
    for (Ceiling& ceiling : MeasureRows(rows(*place), request, kLongEnoughNs))
      all.push_back(std::move(ceiling));
  }
  const auto failed = [](const Ceiling& ceiling) {
    return !ceiling.status.ok() && ceiling.status.code() != StatusCode::kUnsupported;
  };
  // Without any figure the device is what failed.
  if (!all.empty() && std::all_of(all.begin(), all.end(), failed)) return all.front().status;
  return all;
}

}  // namespace fettle::kernels
