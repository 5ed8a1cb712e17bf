// Arithmetic and instructions of the CPU as rows.
#include <fmt/core.h>

#include <algorithm>
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

int64_t Rounds(int64_t amount) { return std::min(amount * kRoundsPerAmount, kMostRounds); }

Status RunsHere(const ListedLoop& listed) {
  if (listed.runs) return OkStatus();
  return Unsupported("this processor has no {}, or the system keeps it back", listed.loop.isa);
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
    const double before = CycleNs();
    const int64_t begin = NowNs();
    const auto done = static_cast<double>(run(Rounds(amount)));
    const auto ns = static_cast<double>(std::max<int64_t>(NowNs() - begin, 1));
    const double cycles = ns / ((before + CycleNs()) / 2);
    if (done == 0) return WrongResult();
    return ProbeSample{is_latency ? cycles / done : done / cycles, ns};
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
