#include "tuner/cost/roofline.h"

#include <algorithm>

#include "kernels/cpu/probe/probe.h"
#include "kernels/work.h"
#include "tuner/measure/measure.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

constexpr double kSlack = 1.1;
constexpr double kLeastLaunchUs = 0.05;
/// Elements per second that a scalar loop reaches at best: one result per cycle at 5 GHz.
constexpr double kScalarRate = 5e9;

constexpr std::string_view kRateNames[] = {"fp32 fma", "int8 dot", "bf16 dot", "L1 read",
                                           "L2 read",  "L3 read",  "DRAM read"};

double CeilingOr(const Ceilings& ceilings, std::string_view name, double otherwise) {
  const auto found = ceilings.find(name);
  return found == ceilings.end() || found->second <= 0 ? otherwise : found->second;
}

double OperationRate(const kernels::Work& work, const Ceilings& ceilings) {
  if (work.ceiling == "scalar") return kScalarRate;
  return CeilingOr(ceilings, work.ceiling, CeilingOr(ceilings, "fp32 fma", 1e12));
}

/// Seconds that `bytes` take on `threads` cores at least: as many as each level holds come from
/// there, the nearest first. Caches of a core count once for each thread.
double TrafficSeconds(double bytes, int threads, const Ceilings& ceilings, const CpuInfo& info) {
  const struct {
    int64_t size;
    int copies;
    std::string_view name;
  } levels[] = {{info.l1d_bytes, threads, "L1 read"},
                {info.l2_bytes, threads, "L2 read"},
                {info.l3_bytes, 1, "L3 read"}};
  // A level cannot be slower than the memory behind it.
  double rates[4] = {};
  rates[3] = CeilingOr(ceilings, "DRAM read", 1e12);
  for (size_t i = 3; i-- > 0;)
    rates[i] = std::max(CeilingOr(ceilings, levels[i].name, 0), rates[i + 1]);
  double seconds = 0, left = bytes;
  for (size_t i = 0; i < 3; ++i) {
    const double held = std::min(left, static_cast<double>(levels[i].size * levels[i].copies));
    seconds += held / rates[i];
    left -= held;
  }
  return (seconds + left / rates[3]) / threads;
}

}  // namespace

RowKey CeilingKey(std::string_view name, const CpuDevice& device) {
  return {.problem = fmt::format("ceiling {}", name),
          .kernel = "probe",
          .device = std::string(device.fingerprint()),
          .protocol = kProtocol,
          .build = BuildOfPart(device, "probe")};
}

Ceilings LoadCeilings(const CpuDevice& device, Store& store) {
  Ceilings ceilings;
  for (std::string_view name : kRateNames) {
    const Result<Row> row = store.Find(CeilingKey(name, device));
    if (row.ok() && !row->prior && row->status == Row::Status::kOk)
      ceilings.emplace(name, row->median_us);
  }
  if (!ceilings.empty()) return ceilings;
  for (const kernels::Ceiling& ceiling : kernels::Probe(device)) {
    ceilings.emplace(ceiling.name, ceiling.value);
    store.Put(CeilingKey(ceiling.name, device), {.median_us = ceiling.value, .samples = 1});
  }
  return ceilings;
}

double CeilingMicroseconds(const kernels::Work& work, int threads, const Ceilings& ceilings,
                           const CpuInfo& info) {
  const double compute = work.operations / (OperationRate(work, ceilings) * threads);
  return std::max(compute, TrafficSeconds(work.bytes, threads, ceilings, info)) * 1e6;
}

double LeastMicroseconds(const kernels::Work& work, int threads, const Ceilings& ceilings,
                         const CpuInfo& info) {
  return std::max(CeilingMicroseconds(work, threads, ceilings, info) / kSlack, kLeastLaunchUs);
}

kernels::Work WorkOf(const planner::Kind& kind, const planner::Entry& entry) {
  return kernels::WorkOf(*entry.kernel, kind.problem(entry), entry.match.get(),
                         {entry.states_index, entry.threads, entry.params});
}

}  // namespace fettle::tuner
