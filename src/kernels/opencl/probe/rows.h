// The rows that the ceilings of an OpenCL device are measured by, and where they run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"
#include "kernels/probe_row.h"

namespace fettle::kernels {

/// A queue of a device, memory for results, and the work-items that fill it. Belongs to one thread.
class OpenClPlace {
 public:
  /// Fails where the device makes no queue or no memory.
  static Result<std::unique_ptr<OpenClPlace>> Create(const OpenClDevice& device, bool for_bounds);

  const OpenClDevice& device() const { return *device_; }
  const OpenClFacts& facts() const { return device_->facts(); }
  OpenClStream& stream() const { return static_cast<OpenClStream&>(*stream_); }
  /// Enough to fill a device of many units, few enough for two cores; a multiple of kGroup.
  size_t items() const { return items_; }
  static constexpr size_t kGroup = 128;
  /// A float for each work-item, and its location.
  Location results() const { return results_->location(); }
  /// Whether results [i] is expected(i) for the first items, and the last.
  template <typename Expected>
  Status CheckResults(Expected expected) const {
    std::vector<float> got(items_);
    RETURN_IF_ERROR(stream().Read(got.data(), *results_, 0, static_cast<int64_t>(items_) * 4));
    for (const size_t i : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, items_ / 2, items_ - 1})
      if (got[i] != static_cast<float>(expected(i))) return WrongResult();
    return OkStatus();
  }
  /// Nanoseconds of `work`, which enqueues, until all of it has ended.
  template <typename Work>
  Result<double> Ns(Work work) const {
    const int64_t begin = NowNs();
    RETURN_IF_ERROR(work());
    RETURN_IF_ERROR(stream().Synchronise());
    return static_cast<double>(std::max<int64_t>(NowNs() - begin, 1));
  }
  Status Launch(const OpenClKernel& kernel, const ArgList& args) const {
    return stream().Launch(kernel, {.gws = {items_, 1, 1}, .lws = {kGroup, 1, 1}}, args.args());
  }
  /// The largest memory that is worth measuring: larger than caches.
  int64_t large_bytes() const;
  /// Memory of at least large_bytes() whose floats are all 1, taken when first asked for, as `to`
  /// is, which anybody may write.
  Result<std::shared_ptr<DeviceMemory>> ones();
  Result<std::shared_ptr<DeviceMemory>> to();
  /// A function of memory.cl.
  Result<std::shared_ptr<OpenClKernel>> MemoryKernel(const std::string& name) const;
  /// Of the vectors in memory.cl.
  int64_t vector_bytes() const { return facts().is_cpu ? 64 : 16; }

 private:
  std::shared_ptr<const OpenClDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::shared_ptr<DeviceMemory> results_, ones_, to_;
  size_t items_ = 0;
  bool for_bounds_ = false;
};

/// Rows of each kind. `place` outlives them.
std::vector<ProbeRow> OpenClArithmeticRows(OpenClPlace& place);
std::vector<ProbeRow> OpenClBandwidthRows(OpenClPlace& place);
std::vector<ProbeRow> OpenClQueueRows(OpenClPlace& place);

}  // namespace fettle::kernels
