#include "report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "device/cpu/cpu_device.h"
#include "planner/choices.h"

namespace fettle::tools {

int Fail(const Status& status) {
  fmt::print(stderr, "fettle: {}\n", status.message());
  return ExitCodeFor(status);
}

void PrintWarnings(const std::vector<std::string>& warnings) {
  std::set<std::string> seen;
  for (const std::string& warning : warnings)
    if (seen.insert(warning).second) fmt::print(stderr, "fettle: warning: {}\n", warning);
}

void PrintJson(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

namespace {

bool OnAccelerator(const exec::StepProfile& step) { return step.device != "cpu"; }

}  // namespace

std::string_view UsedPrecision(std::span<const exec::StepProfile> steps) {
  std::string_view used = "high";
  for (const exec::StepProfile& step : steps) {
    if (!OnAccelerator(step)) continue;
    const kernels::KernelDesc* kernel = planner::FindKernel(step.kernel);
    if (kernel != nullptr && kernel->arithmetic == kernels::Arithmetic::kF16) return "low";
    if (step.dtype == DTypeName(DType::kF16)) used = "normal";
  }
  return used;
}

namespace {

/// Devices beside the CPU store f16, some compute in it; the CPU's kernels compute in f32.
std::string_view DevicePrecision(const Device* accelerator) {
  if (accelerator == nullptr) return "high";
  return accelerator->computes_f16() ? "low" : "normal";
}

/// Why the device cannot do what was asked for; empty: it can.
std::string_view PrecisionReason(const CommonOptions& options, const Device* accelerator) {
  if (options.precision == "high") return {};
  if (accelerator == nullptr) return "the CPU computes in high precision only";
  const bool misses = options.precision == "low" && DevicePrecision(accelerator) != "low";
  return misses ? "device has no cl_khr_fp16" : "";
}

}  // namespace

Json PrecisionJson(const CommonOptions& options, const Device* accelerator,
                   std::span<const exec::StepProfile> steps) {
  Json layers = Json::array();
  for (const exec::StepProfile& step : steps) {
    const bool stores_f32 = OnAccelerator(step) && step.dtype == DTypeName(DType::kF32);
    if (options.precision != "high" && stores_f32 && step.op != "Convert")
      layers.push_back(step.node);
  }
  const std::string_view reason = PrecisionReason(options, accelerator);
  return {{"wanted", options.precision},
          {"device", DevicePrecision(accelerator)},
          {"used", UsedPrecision(steps)},
          {"reason", reason.empty() ? Json() : Json(reason)},
          {"fp32_layers", layers}};
}

std::string PrecisionLine(const CommonOptions& options, const Device* accelerator,
                          std::span<const exec::StepProfile> steps) {
  const std::string_view reason = PrecisionReason(options, accelerator);
  return fmt::format("precision: wanted {}, device {}, used {}{}", options.precision,
                     DevicePrecision(accelerator), UsedPrecision(steps),
                     reason.empty() ? "" : fmt::format(" ({})", reason));
}

Json DeviceJson(int threads, const Device* accelerator) {
  if (accelerator != nullptr)
    return {{"kind", DeviceKindName(accelerator->kind())},
            {"name", accelerator->name()},
            {"fingerprint", accelerator->fingerprint()},
            {"threads", threads}};
  const CpuInfo& info = GetCpuInfo();
  return {{"kind", "cpu"}, {"name", info.model}, {"cores", info.cores}, {"threads", threads}};
}

std::string DeviceLine(int threads, const Device* accelerator) {
  const std::string on = accelerator == nullptr ? "cpu (" + GetCpuInfo().model
                                                : fmt::format("{} ({}, and the CPU",
                                                              DeviceKindName(accelerator->kind()),
                                                              accelerator->name());
  return fmt::format("device: {}, {} thread{})", on, threads, threads == 1 ? "" : "s");
}

Json ShapeJson(const Shape& shape) { return Json(shape.dims()); }

TensorStats StatsOf(const Tensor& tensor) {
  TensorStats stats;
  const HostView view = tensor.view();
  double sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = view.GetDouble(i);
    if (!std::isfinite(value)) {
      ++stats.nonfinite;
      continue;
    }
    stats.min = finite == 0 ? value : std::min(stats.min, value);
    stats.max = finite == 0 ? value : std::max(stats.max, value);
    sum += value;
    ++finite;
  }
  if (finite > 0) stats.mean = sum / static_cast<double>(finite);
  return stats;
}

Json NumberJson(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace fettle::tools
