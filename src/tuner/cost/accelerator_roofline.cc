#include "tuner/cost/accelerator_roofline.h"

#include <algorithm>

#include "base/log.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

using kernels::OpenClCeilings;

constexpr double kAcceleratorSlack = 1.25;
/// 8-bit products that a device does in the time of one fp32 operation at best.
constexpr double kDotFactor = 8;

RowKey KeyOf(std::string_view name, const Device& device) {
  return {.problem = fmt::format("ceiling {}", name),
          .kernel = "probe",
          .device = std::string(device.fingerprint()),
          .protocol = kProtocol,
          .build = BuildOfPart(device, "probe")};
}

}  // namespace

OpenClCeilings LoadAcceleratorCeilings(const Device& device, Store& store) {
  OpenClCeilings ceilings;
  bool complete = true;
  for (const kernels::OpenClCeilingRow& row : kernels::kOpenClCeilings) {
    const Result<Row> kept = store.Find(KeyOf(row.name, device));
    const bool known = kept.ok() && !kept->prior && kept->status == Row::Status::kOk;
    if (known) ceilings.*row.value = kept->median_us;
    complete &= known;
  }
  if (complete) return ceilings;
  const Result<OpenClCeilings> probed = kernels::ProbeOpenCl(device);
  if (!probed.ok()) {
    Log(LogLevel::kWarn, "the ceilings of '{}' cannot be measured: {}", device.name(),
        probed.status().message());
    return {};
  }
  for (const kernels::OpenClCeilingRow& row : kernels::kOpenClCeilings)
    store.Put(KeyOf(row.name, device), {.median_us = *probed.*row.value, .samples = 1});
  return *probed;
}

double CeilingMicroseconds(const kernels::Work& work, const OpenClCeilings& ceilings) {
  if (ceilings.flops <= 0 || ceilings.read_rate <= 0) return 0;
  const double rate = work.ceiling == "int8 dot" ? kDotFactor * ceilings.flops : ceilings.flops;
  return std::max(work.operations / rate, work.bytes / ceilings.read_rate) * 1e6;
}

double LeastMicroseconds(const kernels::Work& work, const OpenClCeilings& ceilings) {
  return std::max(CeilingMicroseconds(work, ceilings), ceilings.launch_us) / kAcceleratorSlack;
}

}  // namespace fettle::tuner
