// Several strided copies as one parallel loop.
#pragma once

#include <algorithm>
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
    stream.ParallelFor(tasks_, [&](int64_t task, int) {
      const auto after =
          std::upper_bound(jobs_.begin(), jobs_.end(), task,
                           [](int64_t at, const Job& job) { return at < job.first_task; });
      run(*(after - 1), task - (after - 1)->first_task);
    });
  }

 private:
  /// Below this everything runs on the calling lane: waking others takes longer.
  static constexpr int64_t kSerialBytes = 32 << 10;

  struct Job {
    StridedCopy copy;
    int source, output;
    int64_t first_task;
  };

  std::vector<Job> jobs_;
  int64_t tasks_ = 0, bytes_ = 0;
};

}  // namespace fettle::kernels
