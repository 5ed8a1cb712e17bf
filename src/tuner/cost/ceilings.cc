#include "tuner/cost/ceilings.h"

#include <algorithm>

#include "base/log.h"
#include "kernels/backend.h"
#include "kernels/cpu/probe/probe.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

/// What bounds are made of, and what of it a device does in the time of one fp32 operation at best.
struct KnownCeiling {
  std::string_view name;
  double factor = 1;
};
constexpr KnownCeiling kKnownCeilings[] = {
    {"fp32 fma"},     {"fp16 fma", 2}, {"bf16 dot"},     {"int8 dot", 8}, {"int8 max", 8},
    {"bit dot", 128}, {"f16 mma", 16}, {"int8 mma", 32}, {"tf32 mma", 8}, {"L1 read"},
    {"L1 copy"},      {"L1 update"},   {"L2 read"},      {"L2 copy"},     {"L2 update"},
    {"L3 read"},      {"L3 copy"},     {"L3 update"},    {"DRAM read"},   {"DRAM copy"},
    {"DRAM update"},  {"cached read"}, {"global read"},  {"launch us"}};
/// Without one of these a device was not probed for bounds.
constexpr std::string_view kNeeded[] = {"fp32 fma", "DRAM copy"};
constexpr std::string_view kNeededBesideCpu[] = {"fp32 fma", "cached read", "launch us"};

void LoadKept(const std::string& name, const Device& device, Store& store, Ceilings& ceilings) {
  const Result<Row> row = store.Find(CeilingKey(name, device));
  if (!row.ok() || row->prior || row->status != Row::Status::kOk) return;
  ceilings.emplace(name, row->low_us > 0 ? row->low_us : row->median_us);
}

Result<std::vector<kernels::Ceiling>> ProbeForBounds(const Device& device,
                                                     const std::atomic<bool>* cancelled) {
  if (device.kind() == DeviceKind::kCpu)
    return kernels::Probe(static_cast<const CpuDevice&>(device), cancelled);
  return kernels::FindBackend(device.kind())
      ->probe(device, {.for_bounds = true, .cancelled = cancelled});
}

}  // namespace

double UnmeasuredFactor(std::string_view ceiling) {
  for (const KnownCeiling& row : kKnownCeilings)
    if (row.name == ceiling) return row.factor;
  return 1;
}

RowKey CeilingKey(std::string_view name, const Device& device) {
  return {.problem = fmt::format("ceiling {}", name),
          .kernel = "probe",
          .device = std::string(device.fingerprint()),
          .protocol = kProtocol,
          .build = BuildOfPart(device, "probe")};
}

void KeepCeilings(std::span<const kernels::Ceiling> ceilings, const Device& device, Store& store) {
  for (const kernels::Ceiling& ceiling : ceilings) {
    if (!ceiling.status.ok()) continue;
    const RowKey key = CeilingKey(ceiling.name, device);
    double best = ceiling.bound();
    if (const Result<Row> before = store.Find(key); before.ok() && !before->prior) {
      const double then = before->low_us;
      best =
          kernels::IsTime(ceiling.unit) && then > 0 ? std::min(best, then) : std::max(best, then);
    }
    store.Put(key, {.median_us = ceiling.value,
                    .mad_us = ceiling.spread * ceiling.value / 2,
                    .low_us = best,
                    .samples = ceiling.repeats,
                    .reason = std::string(ceiling.unit)});
  }
}

Ceilings LoadCeilings(const Device& device, Store& store, int threads,
                      const std::atomic<bool>* cancelled) {
  Ceilings ceilings;
  for (const KnownCeiling& known : kKnownCeilings) {
    LoadKept(std::string(known.name), device, store, ceilings);
    if (threads > 1 && device.kind() == DeviceKind::kCpu)
      LoadKept(fmt::format("{}, {} cores", known.name, threads), device, store, ceilings);
  }
  const std::span<const std::string_view> needed =
      device.kind() == DeviceKind::kCpu ? std::span<const std::string_view>(kNeeded)
                                        : std::span<const std::string_view>(kNeededBesideCpu);
  const auto is_there = [&](std::string_view name) { return ceilings.contains(name); };
  if (std::all_of(needed.begin(), needed.end(), is_there)) return ceilings;
  const Result<std::vector<kernels::Ceiling>> probed = ProbeForBounds(device, cancelled);
  if (cancelled != nullptr && cancelled->load()) return {};
  if (!probed.ok()) {
    Log(LogLevel::kWarn, "the ceilings of '{}' cannot be measured: {}", device.name(),
        probed.status().message());
    return {};
  }
  KeepCeilings(*probed, device, store);
  for (const kernels::Ceiling& ceiling : *probed)
    if (ceiling.status.ok()) ceilings.insert_or_assign(ceiling.name, ceiling.bound());
  return ceilings;
}

}  // namespace fettle::tuner
