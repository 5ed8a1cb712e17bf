// Several strided copies as one parallel loop.
#pragma once

#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/move/strided_copy.h"
#include "kernels/move/move_plan.h"

namespace fettle::kernels {

/// What padding with nothing reads.
alignas(16) inline constexpr std::byte kZeroElement[16] = {};

/// Copies that write distinct elements. Immutable once filled.
class CopySet {
 public:
  /// The piece's `source` (kZeroSource apart) and `output` are what Run asks the addresses of.
  void Add(int64_t element_bytes, Piece piece);
  bool empty() const { return jobs_.empty(); }

  /// from(source) and to(output) give the addresses that a piece's offsets count from. A copy
  /// whose first element is there already is left: distinct tensors that are alive share no bytes
  /// but as windows (join_windows.h).
  template <typename From, typename To>
  void Run(CpuStream& stream, const From& from, const To& to) const {
    const auto source = [&](const Job& job) {
      return job.source == kZeroSource ? kZeroElement : from(job.source);
    };
    const auto is_there = [&](const Job& job) {
      return source(job) + job.src_bytes == to(job.output) + job.dst_bytes;
    };
    const auto run = [&](const Job& job, int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task)
        job.copy.Run(source(job), to(job.output), task);
    };
    int64_t bytes = 0;
    for (const Job& job : jobs_) bytes += is_there(job) ? 0 : job.bytes;
    if (bytes <= kSerialBytes) {
      for (const Job& job : jobs_) {
        if (!is_there(job)) run(job, 0, job.copy.tasks());
      }
      return;
    }
    // Each part is a piece of all copies: those of a Concat along channels write the same pixels,
    // whose cache lines two lanes would otherwise take from each other.
    const int64_t parts = (bytes + kPartBytes - 1) / kPartBytes;
    stream.ParallelFor(parts, [&](int64_t part, int) {
      for (const Job& job : jobs_) {
        const int64_t tasks = job.copy.tasks();
        if (!is_there(job)) run(job, part * tasks / parts, (part + 1) * tasks / parts);
      }
    });
  }

 private:
  /// Below this everything runs on the calling lane: waking others takes longer.
  static constexpr int64_t kSerialBytes = 32 << 10;
  /// Enough to hide the claim of a part.
  static constexpr int64_t kPartBytes = 64 << 10;

  struct Job {
    StridedCopy copy;
    int source, output;
    int64_t src_bytes, dst_bytes;  // where the first element is read and written
    int64_t bytes;
  };

  std::vector<Job> jobs_;
};

}  // namespace fettle::kernels
