#include "roofline.h"

#include <memory>

#include "kernels/cpu/probe/probe.h"
#include "tuner/roofline.h"

namespace fettle::tools {
namespace {

const CpuDevice& ProbedDevice() {
  static const CpuDevice device(std::make_shared<ThreadPool>(1));
  return device;
}

double CeilingMilliseconds(const exec::StepProfile& step, int threads) {
  static const tuner::Ceilings ceilings = [] {
    tuner::Ceilings probed;
    for (const kernels::Ceiling& ceiling : kernels::Probe(ProbedDevice()))
      probed.emplace(ceiling.name, ceiling.value);
    return probed;
  }();
  const bool quantised = step.dtype == "i8" || step.dtype == "u8" ||
                         step.kernel.find("quantised") != std::string::npos;
  const kernels::Work work{.operations = 2 * static_cast<double>(step.macs),
                           .ceiling = quantised ? "int8 dot" : "fp32 fma",
                           .bytes = static_cast<double>(step.bytes)};
  return tuner::CeilingMicroseconds(work, threads, ceilings, ProbedDevice().info()) * 1e-3;
}

}  // namespace

double RooflineShare(const std::vector<exec::StepProfile>& steps, int threads) {
  double least = 0, measured = 0;
  for (const exec::StepProfile& step : steps) {
    least += CeilingMilliseconds(step, threads);
    measured += step.ms;
  }
  return measured > 0 ? least / measured : 0;
}

double RooflineShare(const exec::StepProfile& step, int threads) {
  return RooflineShare(std::vector{step}, threads);
}

}  // namespace fettle::tools
