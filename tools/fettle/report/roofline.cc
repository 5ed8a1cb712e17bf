#include "report/roofline.h"

#include <memory>

#include "jobs/tuning.h"
#include "kernels/cpu/probe/probe.h"
#include "tuner/cost/accelerator_roofline.h"

namespace fettle::tools {
namespace {

const CpuDevice& ProbedDevice() {
  static const CpuDevice device(std::make_shared<ThreadPool>(1));
  return device;
}

}  // namespace

Roofline::Roofline(int threads, const Device* accelerator, const CommonOptions& options)
    : threads_(threads), accelerator_(accelerator), options_(options) {}

const tuner::Ceilings& Roofline::CpuCeilings() {
  if (cpu_.empty()) {
    for (const kernels::Ceiling& ceiling : kernels::Probe(ProbedDevice()))
      cpu_.emplace(ceiling.name, ceiling.value);
  }
  return cpu_;
}

const tuner::Ceilings& Roofline::AcceleratorCeilings() {
  if (!beside_cpu_.has_value())
    beside_cpu_ = tuner::LoadAcceleratorCeilings(*accelerator_, *StoreFor(options_));
  return *beside_cpu_;
}

double Roofline::CeilingMs(const exec::StepProfile& step) {
  const double us =
      step.device != "cpu" && accelerator_ != nullptr
          ? tuner::CeilingMicroseconds(step.work, AcceleratorCeilings())
          : tuner::CeilingMicroseconds(step.work, threads_, CpuCeilings(), ProbedDevice().info());
  return us * 1e-3;
}

double Roofline::Share(const std::vector<exec::StepProfile>& steps) {
  double least = 0, measured = 0;
  for (const exec::StepProfile& step : steps) {
    least += CeilingMs(step);
    measured += step.ms;
  }
  return measured > 0 ? least / measured : 0;
}

double Roofline::Share(const exec::StepProfile& step) { return Share(std::vector{step}); }

}  // namespace fettle::tools
