#include "report/roofline.h"

#include <fmt/core.h>

#include <memory>

#include "jobs/interrupt.h"
#include "jobs/tuning.h"
#include "kernels/cpu/probe/probe.h"
#include "report/profile_table.h"
#include "tuner/cost/accelerator_roofline.h"

namespace fettle::tools {
namespace {

const CpuDevice& ProbedDevice() {
  static const CpuDevice device(std::make_shared<ThreadPool>(1));
  return device;
}

/// A processor that others share may be faster now than when it was measured.
void RaiseToNow(int threads, tuner::Ceilings& ceilings) {
  for (const kernels::Ceiling& now : kernels::Probe(ProbedDevice())) {
    const auto kept = ceilings.find(now.name);
    if (kept == ceilings.end() || kept->second >= now.bound()) continue;
    const auto together = ceilings.find(fmt::format("{}, {} cores", now.name, threads));
    if (together != ceilings.end()) together->second *= now.bound() / kept->second;
    kept->second = now.bound();
  }
}

}  // namespace

Roofline::Roofline(int threads, const Device* accelerator, const CommonOptions& options)
    : threads_(threads), accelerator_(accelerator), options_(options) {}

const tuner::Ceilings& Roofline::CpuCeilings() {
  if (!cpu_.has_value()) {
    cpu_ =
        tuner::LoadCeilings(ProbedDevice(), *StoreFor(options_), threads_, &InterruptScope::Flag());
    if (!InterruptScope::Interrupted()) RaiseToNow(threads_, *cpu_);
  }
  return *cpu_;
}

const tuner::Ceilings& Roofline::AcceleratorCeilings() {
  if (!beside_cpu_.has_value())
    beside_cpu_ =
        tuner::LoadCeilings(*accelerator_, *StoreFor(options_), 1, &InterruptScope::Flag());
  return *beside_cpu_;
}

tuner::Limit Roofline::LimitOf(const kernels::Work& work, bool beside_cpu) {
  if (beside_cpu && accelerator_ != nullptr) return tuner::LimitOf(work, AcceleratorCeilings());
  return tuner::LimitOf(work, threads_, CpuCeilings(), ProbedDevice().info());
}

tuner::Limit Roofline::LimitOf(const exec::StepProfile& step) {
  return LimitOf(step.work, step.device != "cpu");
}

double Roofline::Share(const std::vector<exec::StepProfile>& steps) {
  double least = 0, measured = 0;
  for (const exec::StepProfile& step : steps) {
    least += LimitOf(step).us * 1e-3;
    measured += step.ms;
  }
  return measured > 0 ? least / measured : 0;
}

double Roofline::Share(const exec::StepProfile& step) { return Share(std::vector{step}); }

Json StepJson(const exec::StepProfile& step, Roofline& roofline) {
  const tuner::Limit limit = roofline.LimitOf(step);
  return {{"node", step.node},
          {"op", step.op},
          {"kernel", step.kernel},
          {"layout_in", step.layout_in},
          {"layout_out", step.layout_out},
          {"dtype", step.dtype},
          {"device", step.device},
          {"ms", step.ms},
          {"gflops", StepGflops(step)},
          {"gbps", StepGbps(step)},
          {"operations", step.work.operations},
          {"least_bytes", step.work.bytes},
          {"bound_by", limit.by},
          {"bound_ms", limit.us * 1e-3},
          {"cold_bound_ms", limit.cold_us * 1e-3},
          {"lost_ms", step.ms - limit.us * 1e-3},
          {"roofline_share", roofline.Share(step)}};
}

}  // namespace fettle::tools
