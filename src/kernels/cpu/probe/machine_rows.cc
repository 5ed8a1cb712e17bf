// Memory and threads of the CPU as rows.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "kernels/cpu/probe/memory.h"
#include "kernels/cpu/probe/rows.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kSmallestSet = 16 << 10;
constexpr int kStepOfSets = 4;
constexpr int64_t kLeastInL3 = 64 << 10;  // where the size of L2 is not known

/// Of one core's part of a working set.
int64_t PartBytes(int64_t bytes, int cores, int memories) {
  return std::max(bytes / (cores * memories) / kMemoryGranule, int64_t{1}) * kMemoryGranule;
}

/// `bytes` of all cores together.
ProbeRow BandwidthRow(ProbePlace& place, CeilingName name, const MemoryLoop& loop, int64_t bytes,
                      int cores) {
  name.column =
      fmt::format("{}, {}", loop.name, cores == 1 ? "1 core" : fmt::format("{} cores", cores));
  if (cores > 1) name.name += fmt::format(", {} cores", cores);
  name.unit = "B/s";
  name.group = "bandwidth";
  ProbeRow row{.name = std::move(name)};
  const int64_t part = PartBytes(bytes, cores, loop.memories());
  row.run = [&place, &loop, part, cores](int64_t passes) -> Result<ProbeSample> {
    const int64_t all = part * cores;
    const uint32_t* from = place.constant_memory(loop.uses_from ? all : kMemoryGranule);
    uint32_t* to = place.memory(loop.uses_to ? all : kMemoryGranule);
    if (from == nullptr || to == nullptr)
      return Error(StatusCode::kOutOfMemory, "there are no 2 x {}", BinarySize(all));
    std::atomic<bool> right = true;
    const double ns = place.TogetherNs(cores, [&](int lane) {
      const int64_t first = lane * part / 4;
      if (!loop.run(from + first, to + first, part, passes)) right = false;
    });
    const auto moved = static_cast<double>(part * cores * loop.memories() * loop.moves * passes);
    if (!right) return WrongResult();
    return ProbeSample{moved / ns * 1e9, ns};
  };
  return row;
}

}  // namespace

std::vector<ProbeRow> BandwidthRows(ProbePlace& place) {
  const CpuInfo& info = place.info();
  const int64_t memory = place.memory_bytes();
  // Half of a level, so that nothing else pushes out what is measured; each core has its own L1 and
  // L2, and a large L3 is slower the more of it is read: four times what the L2 hold.
  const struct {
    std::string_view name;
    int64_t size, each, most;
  } levels[] = {{"L1", info.l1d_bytes, info.l1d_bytes / 2, memory},
                {"L2", info.l2_bytes, info.l2_bytes / 2, memory},
                {"L3", info.l3_bytes, 4 * std::max(info.l2_bytes, kLeastInL3), info.l3_bytes / 4},
                {"DRAM", 1, memory, memory}};
  std::vector<ProbeRow> rows;
  for (const auto& level : levels) {
    for (const MemoryLoop& loop : MemoryLoops()) {
      const CeilingName name{.name = fmt::format("{} {}", level.name, loop.name),
                             .unit = {},
                             .group = {},
                             .row = std::string(level.name),
                             .column = {}};
      for (const int cores : place.core_counts()) {
        const int64_t bytes = std::min({level.each * cores, level.most, memory});
        rows.push_back(BandwidthRow(place, name, loop, bytes, cores));
        rows.back().for_bounds = cores == 1 && loop.name != "write";
        if (level.size == 0) rows.back().runs = Unsupported("no {} is reported", level.name);
      }
    }
  }
  if (place.for_bounds()) return rows;
  for (int64_t bytes = kSmallestSet; bytes < memory; bytes *= kStepOfSets) {
    for (const MemoryLoop& loop : MemoryLoops()) {
      for (const int cores : place.core_counts()) {
        const CeilingName name{.name = fmt::format("{} {}", loop.name, BinarySize(bytes)),
                               .unit = {},
                               .group = {},
                               .row = BinarySize(bytes),
                               .column = {}};
        rows.push_back(BandwidthRow(place, name, loop, bytes, cores));
      }
    }
  }
  return rows;
}

std::vector<ProbeRow> ThreadRows(ProbePlace& place) {
  const int cores = place.core_counts().back();
  const Status runs = cores > 1 ? OkStatus() : Unsupported("one thread has no others to wake");
  const auto row = [&](std::string_view name, std::chrono::milliseconds rest) {
    ProbeRow made{.name = {.name = std::string(name),
                           .unit = "us",
                           .group = "threads",
                           .row = std::string(name),
                           .column = cores > 1 ? fmt::format("{} cores", cores) : "1 core"},
                  .runs = runs};
    made.most = rest.count() > 0 ? 1 : 10000;
    made.run = [&place, cores, rest](int64_t calls) -> Result<ProbeSample> {
      std::this_thread::sleep_for(rest);
      std::atomic<int64_t> tasks = 0;
      const int64_t begin = NowNs();
      for (int64_t i = 0; i < calls; ++i)
        place.pool().ParallelFor(cores, cores, [&](int64_t, int) { ++tasks; });
      const auto ns = static_cast<double>(std::max<int64_t>(NowNs() - begin, 1));
      if (tasks != calls * cores) return WrongResult();
      return ProbeSample{ns * 1e-3 / static_cast<double>(calls), ns};
    };
    return made;
  };
  return {row("parallel loop", std::chrono::milliseconds(0)),
          row("parallel loop after a rest", std::chrono::milliseconds(5))};
}

}  // namespace fettle::kernels
