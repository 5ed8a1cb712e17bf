// The rows that the CPU's ceilings are measured by: a name and a function each.
#pragma once

#include <memory>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/probe_row.h"

namespace fettle::kernels {

/// Where rows run. Memory is taken when a row asks for it.
class ProbePlace {
 public:
  ProbePlace(const CpuDevice& device, const ProbeRequest& request);
  const CpuInfo& info() const { return device_.info(); }
  ThreadPool& pool() const { return device_.pool(); }
  bool for_bounds() const { return for_bounds_; }
  /// 1, and all where more than one are to be measured together.
  std::vector<int> core_counts() const;
  /// Of the largest working set: well beyond the last cache level, but not without bound.
  int64_t memory_bytes() const { return memory_bytes_; }
  /// So many bytes of words that are all 1 and that nobody writes, and of any; null where the
  /// system has not so much. Until more of the same are asked for.
  const uint32_t* constant_memory(int64_t bytes) { return constant_.Take(bytes); }
  uint32_t* memory(int64_t bytes) { return written_.Take(bytes); }

  /// Runs work(lane) on so many cores from the same moment on; nanoseconds from there until the
  /// last has ended.
  double TogetherNs(int cores, FunctionRef<void(int lane)> work) const;

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    int64_t bytes = 0;
    uint32_t* Take(int64_t least);
  };

  const CpuDevice& device_;
  bool for_bounds_;
  int cores_;
  int64_t memory_bytes_;
  Block constant_, written_;
};

/// Nanoseconds of one cycle now: of an addition in a chain of them. About 30 microseconds.
double CycleNs();

/// "NAME" of one core, "NAME, 8 cores"; in the columns "1 core", "8 cores".
CeilingName OfCores(CeilingName name, int cores);

/// Rows of each kind. `place` outlives them.
std::vector<ProbeRow> ArithmeticRows(ProbePlace& place);
std::vector<ProbeRow> InstructionRows(ProbePlace& place);
std::vector<ProbeRow> BandwidthRows(ProbePlace& place);
std::vector<ProbeRow> ThreadRows(ProbePlace& place);

}  // namespace fettle::kernels
