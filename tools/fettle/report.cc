#include "report.h"

#include <fmt/core.h>

#include <cmath>
#include <set>

#include "device/cpu/cpu_device.h"

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

Json PrecisionJson(const CommonOptions& options) {
  return {{"wanted", options.precision},
          {"device", "high"},
          {"used", "high"},
          {"fp32_layers", Json::array()}};
}

std::string PrecisionLine(const CommonOptions& options) {
  return fmt::format("precision: wanted {}, device high, used high", options.precision);
}

Json DeviceJson(int threads) {
  const CpuInfo& info = GetCpuInfo();
  return {{"kind", "cpu"}, {"name", info.model}, {"cores", info.cores}, {"threads", threads}};
}

std::string DeviceLine(int threads) {
  return fmt::format("device: cpu ({}, {} thread{})", GetCpuInfo().model, threads,
                     threads == 1 ? "" : "s");
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
