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

  /// from(source) and to(output) give the addresses that a piece's offsets count from.
  template <typename From, typename To>
  void Run(CpuStream& stream, const From& from, const To& to) const {
    const auto run = [&](const Job& job, int64_t task) {
      const std::byte* source = job.source == kZeroSource ? kZeroElement : from(job.source);
      job.copy.Run(source, to(job.output), task);
    };
    if (bytes_ <= kSerialBytes) {
      for (const Job& job : jobs_) {
        for (int64_t task = 0; task < job.copy.tasks(); ++task) run(job, task);
      }
      return;
    }
    // Each part is a piece of all copies: those of a Concat along channels write the same pixels,
    // whose cache lines two lanes would otherwise take from each other.
    const int64_t parts = (bytes_ + kPartBytes - 1) / kPartBytes;
    stream.ParallelFor(parts, [&](int64_t part, int) {
      for (const Job& job : jobs_) {
        const int64_t end = (part + 1) * job.copy.tasks() / parts;
        for (int64_t task = part * job.copy.tasks() / parts; task < end; ++task) run(job, task);
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
  };

  std::vector<Job> jobs_;
  int64_t bytes_ = 0;
};

}  // namespace fettle::kernels
