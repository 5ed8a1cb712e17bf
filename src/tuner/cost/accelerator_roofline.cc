#include "tuner/cost/accelerator_roofline.h"

#include <algorithm>

#include "base/log.h"
#include "kernels/backend.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

constexpr double kAcceleratorSlack = 1.25;
/// 8-bit products that a device does in the time of one fp32 operation at best.
constexpr double kDotFactor = 8;
/// The same of f16 by matrix instructions.
constexpr double kMmaFactor = 16;

constexpr std::string_view kFlops = "fp32 fma", kReadRate = "cached read", kLaunchUs = "launch us";

RowKey KeyOf(std::string_view name, const Device& device) {
  return {.problem = fmt::format("ceiling {}", name),
          .kernel = "probe",
          .device = std::string(device.fingerprint()),
          .protocol = kProtocol,
          .build = BuildOfPart(device, "probe")};
}

/// 0 where it is not known.
double ValueOf(const Ceilings& ceilings, std::string_view name) {
  const auto found = ceilings.find(name);
  return found == ceilings.end() ? 0 : found->second;
}

}  // namespace

Ceilings LoadAcceleratorCeilings(const Device& device, Store& store) {
  Ceilings ceilings;
  for (const std::string_view name : {kFlops, kReadRate, kLaunchUs}) {
    const Result<Row> kept = store.Find(KeyOf(name, device));
    if (!kept.ok() || kept->prior || kept->status != Row::Status::kOk) break;
    ceilings.emplace(name, kept->median_us);
  }
  if (ceilings.size() == 3) return ceilings;
  ceilings.clear();
  const Result<std::vector<kernels::Ceiling>> probed =
      kernels::FindBackend(device.kind())->probe(device);
  if (!probed.ok()) {
    Log(LogLevel::kWarn, "the ceilings of '{}' cannot be measured: {}", device.name(),
        probed.status().message());
    return {};
  }
  for (const kernels::Ceiling& ceiling : *probed) {
    store.Put(KeyOf(ceiling.name, device), {.median_us = ceiling.value, .samples = 1});
    ceilings.emplace(ceiling.name, ceiling.value);
  }
  return ceilings;
}

double CeilingMicroseconds(const kernels::Work& work, const Ceilings& ceilings) {
  const double flops = ValueOf(ceilings, kFlops), read_rate = ValueOf(ceilings, kReadRate);
  if (flops <= 0 || read_rate <= 0) return 0;
  const double rate = flops * (work.ceiling == "int8 dot"  ? kDotFactor
                               : work.ceiling == "f16 mma" ? kMmaFactor
                                                           : 1);
  return std::max(work.operations / rate, work.bytes / read_rate) * 1e6;
}

double LeastMicroseconds(const kernels::Work& work, const Ceilings& ceilings) {
  return std::max(CeilingMicroseconds(work, ceilings), ValueOf(ceilings, kLaunchUs)) /
         kAcceleratorSlack;
}

}  // namespace fettle::tuner
