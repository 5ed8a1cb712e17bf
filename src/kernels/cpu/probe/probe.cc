#include "kernels/cpu/probe/probe.h"

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "kernels/cpu/probe/fma.h"
#include "kernels/cpu/probe/loops.h"
#include "kernels/cpu/probe/rows.h"
#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {
namespace {

constexpr double kLongEnoughNs = 1e6, kLongEnoughForBoundsNs = 3e5;

/// The clock of the calling core, before or after all else.
Ceiling MeasureClock(std::string_view when) {
  const CeilingName name{.name = "clock " + std::string(when),
                         .unit = "GHz",
                         .group = "clock",
                         .row = std::string(when),
                         .column = "GHz"};
  const ProbeRow row{.name = name, .run = [](int64_t amount) -> Result<ProbeSample> {
                       const int64_t begin = NowNs();
                       double cycle = CycleNs();
                       for (int64_t i = 1; i < amount; ++i) cycle = std::min(cycle, CycleNs());
                       return ProbeSample{1 / cycle, static_cast<double>(NowNs() - begin)};
                     }};
  return MeasureRow(row, kLongEnoughNs);
}

}  // namespace

std::vector<Ceiling> ProbeCpu(const CpuDevice& device, const ProbeRequest& request) {
  ApplyIsaCap();
  ProbePlace place(device, request);
  std::vector<Ceiling> all;
  const bool wants_clock = !request.for_bounds && request.Wants("clock");
  if (wants_clock) all.push_back(MeasureClock("at the begin"));
  for (const auto rows : {ArithmeticRows, InstructionRows, BandwidthRows, ThreadRows}) {
    for (Ceiling& ceiling : MeasureRows(
             rows(place), request, request.for_bounds ? kLongEnoughForBoundsNs : kLongEnoughNs))
      all.push_back(std::move(ceiling));
  }
  if (wants_clock) all.push_back(MeasureClock("at the end"));
  return all;
}

const std::vector<Ceiling>& Probe(const CpuDevice& device, const std::atomic<bool>* cancelled) {
  static std::mutex mutex;
  static std::vector<Ceiling> all;
  static const std::vector<Ceiling> kNone;
  std::lock_guard lock(mutex);
  if (!all.empty()) return all;
  const ProbeRequest request{.for_bounds = true, .cancelled = cancelled};
  std::vector<Ceiling> measured = ProbeCpu(device, request);
  if (request.IsCancelled()) return kNone;
  std::erase_if(measured, [](const Ceiling& ceiling) { return !ceiling.status.ok(); });
  return all = std::move(measured);
}

double ProbeFmaFlops(double milliseconds) {
  ApplyIsaCap();
  static const RegisterLoop loop = [] {
    const std::vector<ListedLoop>& all = ListLoops();
    return std::find_if(all.begin(), all.end(),
                        [](const ListedLoop& listed) {
                          return listed.runs && listed.loop.ceiling == "fp32 fma";
                        })
        ->loop;
  }();
  constexpr int64_t kRounds = 20000;  // about 50 microseconds
  double best = 0;
  const int64_t until = NowNs() + static_cast<int64_t>(milliseconds * 1e6);
  do {
    const int64_t start = NowNs();
    const double operations = loop.operations * static_cast<double>(loop.independent(kRounds));
    best = std::max(best,
                    operations / static_cast<double>(std::max<int64_t>(1, NowNs() - start)) * 1e9);
  } while (NowNs() < until);
  return best;
}

}  // namespace fettle::kernels
