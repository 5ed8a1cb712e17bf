#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>

#include "device/cpu/cpu_device.h"
#include "planner/choices.h"
#include "report/messages.h"
#include "report/terminal.h"

namespace fettle::tools {

namespace {

bool json_failures = false, printed_json = false;
std::map<std::string, std::string>& OtherNames() {
  static std::map<std::string, std::string> names;
  return names;
}

/// `text` with the options called by what the user wrote.
std::string AsWritten(std::string text) {
  const auto is_of_name = [](char c) {
    return c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  };
  for (const auto& [name, other] : OtherNames()) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      const size_t end = at + name.size();
      const bool whole =
          (at == 0 || !is_of_name(text[at - 1])) && (end == text.size() || !is_of_name(text[end]));
      if (whole) text.replace(at, name.size(), other);
      at += whole ? other.size() : name.size();
    }
  }
  return text;
}

}  // namespace

void SetJsonFailures(bool json) { json_failures = json; }
void SetOtherNames(std::map<std::string, std::string> names) { OtherNames() = std::move(names); }

int Fail(const Status& status) { return Fail(status, ExitCodeFor(status)); }

int Fail(const Status& status, ExitCode code) {
  const std::string text = AsWritten(status.message());
  PrintMessage("{}", ForTerminal(fmt::format("fettle: {}\n", text)));
  if (json_failures && !printed_json)
    PrintJson({{"error",
                {{"message", text},
                 {"status", StatusCodeName(status.code())},
                 {"exit_code", static_cast<int>(code)}}}});
  return code;
}

int FailUsage(std::string_view message) {
  return Fail(Status(StatusCode::kInvalidArgument, std::string(message)), kExitUsage);
}

int FlushOutput(int code) {
  // A full disk behind stdout shows only here.
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return FailOutput();
}

int FailOutput() {
  const std::string why = errno == 0 ? "" : fmt::format(": {}", std::strerror(errno));
  PrintMessage("fettle: cannot write to standard output{}\n", why);
  return kExitFailed;
}

void PrintWarnings(const std::vector<std::string>& warnings) {
  std::set<std::string> seen;
  for (const std::string& warning : warnings)
    if (seen.insert(warning).second)
      PrintMessage("{}", ForTerminal(fmt::format("fettle: warning: {}\n", AsWritten(warning))));
}

void PrintJson(const Json& document) {
  printed_json = true;
  if (document.contains("warnings")) {
    Json named = document;
    for (Json& warning : named["warnings"]) warning = AsWritten(warning.get<std::string>());
    fmt::print("{}\n", named.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

namespace {

bool OnAccelerator(const exec::StepProfile& step) { return step.device != "cpu"; }

}  // namespace

std::string_view UsedPrecision(std::span<const exec::StepProfile> steps) {
  planner::Precision used = planner::Precision::kHigh;
  for (const exec::StepProfile& step : steps) {
    if (OnAccelerator(step) && step.dtype == DTypeName(DType::kF16))
      used = std::max(used, planner::Precision::kNormal);
    const kernels::KernelDesc* kernel = planner::FindKernel(step.kernel);
    if (kernel != nullptr) used = std::max(used, planner::LeastPrecision(kernel->arithmetic));
  }
  return planner::PrecisionName(used);
}

namespace {

/// Devices beside the CPU store f16, some compute in it; the CPU may multiply bf16.
std::string_view DevicePrecision(const Device* accelerator) {
  if (accelerator == nullptr) return CpuPrecision();
  return accelerator->computes_f16() ? "low" : "normal";
}

/// Why the device cannot do what was asked for; empty: it can.
std::string_view PrecisionReason(const CommonOptions& options, const Device* accelerator) {
  if (options.precision == "high") return {};
  if (accelerator == nullptr && CpuPrecision() == "high") return kNoBf16;
  if (accelerator == nullptr) return options.precision == "low" ? "the CPU sums in f32" : "";
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
  Json json = PrecisionJson(options, accelerator, UsedPrecision(steps));
  json["fp32_layers"] = std::move(layers);
  return json;
}

Json PrecisionJson(const CommonOptions& options, const Device* accelerator, std::string_view used) {
  const std::string_view reason = PrecisionReason(options, accelerator);
  return {{"wanted", options.precision},
          {"device", DevicePrecision(accelerator)},
          {"used", used},
          {"reason", reason.empty() ? Json() : Json(reason)},
          {"fp32_layers", Json::array()}};
}

std::string PrecisionLine(const CommonOptions& options, const Device* accelerator,
                          std::span<const exec::StepProfile> steps) {
  return PrecisionLine(options, accelerator, UsedPrecision(steps));
}

std::string PrecisionLine(const CommonOptions& options, const Device* accelerator,
                          std::string_view used) {
  const std::string_view reason = PrecisionReason(options, accelerator);
  return fmt::format("precision: wanted {}, device {}, used {}{}", options.precision,
                     DevicePrecision(accelerator), used,
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
  return fmt::format("device: {}, {})", on, Count(threads, "thread"));
}

void PrintParts(const std::vector<std::string>& parts) {
  fmt::print("{}\n", Fit(fmt::format("{}", fmt::join(parts, " · "))));
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

Json KnownMs(double us) { return us > 0 ? Json(us * 1e-3) : Json(nullptr); }

}  // namespace fettle::tools
