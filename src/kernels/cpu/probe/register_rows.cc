// Arithmetic and instructions of the CPU as rows.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/clock.h"
#include "kernels/cpu/probe/loops.h"
#include "kernels/cpu/probe/rows.h"

namespace fettle::kernels {
namespace {

/// The kinds of arithmetic that there are loops of, and which bounds are made of.
const struct {
  std::string_view name, unit;
  bool for_bounds;
} kKinds[] = {{"fp32 fma", "FLOP/s", true},  {"fp64 fma", "FLOP/s", false},
              {"fp16 fma", "FLOP/s", false}, {"bf16 dot", "FLOP/s", true},
              {"int8 dot", "OP/s", true},    {"int8 max", "OP/s", true},
              {"bit dot", "OP/s", true}};

constexpr int64_t kRoundsPerAmount = 100;
/// Of a run of an instruction, each beside the clock of its moment: 200 microseconds of 1 ms, which
/// neither changes of the clock nor what else runs on the core fall into often.
constexpr int kSlices = 5;
/// Of a slice, before it and not timed: where vectors of 512 bits begin, a processor may lose 3
/// microseconds until its voltage allows them.
constexpr int64_t kWarmUpShare = 8;

int64_t Rounds(int64_t amount) { return std::min(amount * kRoundsPerAmount, kMostRounds); }

Status RunsHere(const ListedLoop& listed) {
  if (listed.runs) return OkStatus();
  return Unsupported("this processor has no {}, or the system disables it", listed.loop.isa);
}

ProbeRow RateRow(ProbePlace& place, CeilingName name, const ListedLoop& listed, int cores) {
  ProbeRow row{.name = OfCores(std::move(name), cores), .runs = RunsHere(listed)};
  row.most = kMostRounds / kRoundsPerAmount;
  row.run = [&place, loop = listed.loop, cores](int64_t amount) -> Result<ProbeSample> {
    std::atomic<int64_t> instructions = 0;
    std::atomic<bool> right = true;
    const double ns = place.TogetherNs(cores, [&](int) {
      const int64_t done = loop.independent(Rounds(amount));
      if (done == 0) right = false;
      instructions += done;
    });
    const double operations = loop.operations * static_cast<double>(instructions);
    if (!right) return WrongResult();
    return ProbeSample{operations / ns * 1e9, ns};
  };
  return row;
}

/// Cycles that each of kSlices slices of work takes by the clock right before and after it.
struct SlicedRun {
  double median_cycles = 0, ns = 0;
  bool right = true;
  double instructions = 0;  // of one slice
};

SlicedRun RunSlices(int64_t (*run)(int64_t), int64_t rounds) {
  SlicedRun all;
  std::array<double, kSlices> cycles;
  double before = CycleNs();
  for (double& of_slice : cycles) {
    run(std::max<int64_t>(rounds / kWarmUpShare, 1));
    const int64_t begin = NowNs();
    const int64_t done = run(rounds);
    const auto ns = static_cast<double>(std::max<int64_t>(NowNs() - begin, 1));
    const double after = CycleNs();
    of_slice = ns / ((before + after) / 2);
    before = after;
    all.ns += ns;
    all.right = all.right && done != 0;
    all.instructions = static_cast<double>(done);
  }
  std::nth_element(cycles.begin(), cycles.begin() + kSlices / 2, cycles.end());
  all.median_cycles = cycles[kSlices / 2];
  return all;
}

/// Cycles of an instruction in a chain, or instructions in a cycle, by the clock of the moment.
ProbeRow InstructionRow(const ListedLoop& listed, bool is_latency) {
  const RegisterLoop& loop = listed.loop;
  ProbeRow row{.name = {.name = fmt::format("{} {} {}", loop.instruction, loop.isa,
                                            is_latency ? "latency" : "throughput"),
                        .unit = is_latency ? "cycles" : "/cycle",
                        .group = "instructions",
                        .row = fmt::format("{} {}", loop.instruction, loop.isa),
                        .column = is_latency ? "latency, cycles" : "per cycle"},
               .runs = RunsHere(listed)};
  row.most = kMostRounds / kRoundsPerAmount;
  row.run = [run = is_latency ? loop.dependent : loop.independent,
             is_latency](int64_t amount) -> Result<ProbeSample> {
    const SlicedRun all = RunSlices(run, Rounds(amount));
    if (!all.right) return WrongResult();
    return ProbeSample{
        is_latency ? all.median_cycles / all.instructions : all.instructions / all.median_cycles,
        all.ns};
  };
  return row;
}

}  // namespace

std::vector<ProbeRow> ArithmeticRows(ProbePlace& place) {
  std::vector<ProbeRow> rows;
  for (const auto& kind : kKinds) {
    bool found = false;
    for (const ListedLoop& listed : ListLoops()) {
      if (listed.loop.ceiling != kind.name) continue;
      // The best has the name of the kind alone.
      const bool best = listed.runs && !found;
      found = found || best;
      const std::string with_isa = fmt::format("{} {}", kind.name, listed.loop.isa);
      const CeilingName name{.name = best ? std::string(kind.name) : with_isa,
                             .unit = kind.unit,
                             .group = "arithmetic",
                             .row = with_isa,
                             .column = {}};
      for (const int cores : place.core_counts()) {
        rows.push_back(RateRow(place, name, listed, cores));
        rows.back().for_bounds = best && cores == 1 && kind.for_bounds;
      }
    }
    if (found) continue;
    rows.push_back({.name = OfCores({.name = std::string(kind.name),
                                     .unit = kind.unit,
                                     .group = "arithmetic",
                                     .row = std::string(kind.name),
                                     .column = {}},
                                    1),
                    .runs = Unsupported("this processor has no instruction for it that kernels "
                                        "use")});
  }
  return rows;
}

std::vector<ProbeRow> InstructionRows(ProbePlace&) {
  std::vector<ProbeRow> rows;
  for (const ListedLoop& listed : ListLoops()) {
    if (!listed.loop.is_one) continue;
    if (listed.loop.dependent != nullptr) rows.push_back(InstructionRow(listed, true));
    if (listed.loop.independent != nullptr) rows.push_back(InstructionRow(listed, false));
  }
  return rows;
}

}  // namespace fettle::kernels
