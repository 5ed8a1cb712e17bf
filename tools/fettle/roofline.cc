#include "roofline.h"

#include <algorithm>
#include <memory>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/probe/probe.h"

namespace fettle::tools {
namespace {

const CpuDevice& ProbedDevice() {
  static const CpuDevice device(std::make_shared<ThreadPool>(1));
  return device;
}

double PeakOperations(const exec::StepProfile& step) {
  const double fma = kernels::CeilingOf(ProbedDevice(), "fp32 fma");
  const bool bytes = step.dtype == "i8" || step.dtype == "u8" ||
                     step.kernel.find("quantised") != std::string::npos;
  return bytes ? std::max(fma, kernels::CeilingOf(ProbedDevice(), "int8 dot")) : fma;
}

/// Bytes per second from the level that `bytes` fit in. Caches of a core count once per thread, the
/// shared last level and memory once.
double PeakBandwidth(int64_t bytes, int threads) {
  const CpuInfo& info = ProbedDevice().info();
  const struct {
    int64_t size;
    int copies;
    const char* name;
  } levels[] = {{info.l1d_bytes, threads, "L1 read"},
                {info.l2_bytes, threads, "L2 read"},
                {info.l3_bytes, 1, "L3 read"}};
  for (const auto& level : levels) {
    const double rate = kernels::CeilingOf(ProbedDevice(), level.name);
    if (rate > 0 && bytes <= level.size * level.copies) return rate * threads;
  }
  return kernels::CeilingOf(ProbedDevice(), "DRAM read") * threads;
}

}  // namespace

double LeastMilliseconds(const exec::StepProfile& step, int threads) {
  const double operations = PeakOperations(step) * threads;
  const double bandwidth = PeakBandwidth(step.bytes, threads);
  const double compute = operations > 0 ? 2 * static_cast<double>(step.macs) / operations : 0;
  const double traffic = bandwidth > 0 ? static_cast<double>(step.bytes) / bandwidth : 0;
  return std::max(compute, traffic) * 1e3;
}

double RooflineShare(const exec::StepProfile& step, int threads) {
  return step.ms > 0 ? LeastMilliseconds(step, threads) / step.ms : 0;
}

double RooflineShare(const std::vector<exec::StepProfile>& steps, int threads) {
  double least = 0, measured = 0;
  for (const exec::StepProfile& step : steps) {
    least += LeastMilliseconds(step, threads);
    measured += step.ms;
  }
  return measured > 0 ? least / measured : 0;
}

}  // namespace fettle::tools
