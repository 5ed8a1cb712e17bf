#include "tuner/cost/run_overhead.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

/// Runs that weigh as much as the belief that there is no overhead.
constexpr double kPriorRuns = 2;
/// Evidence does not grow beyond so many runs, so that what is new counts.
constexpr double kMostKnownRuns = 64;

}  // namespace

int WaitsFor(const exec::Plan& plan, const Device& accelerator) {
  const DeviceKind kind = accelerator.kind();
  int returns = 0;
  bool computes = false;
  for (const exec::PlannedStep& step : plan.steps) {
    if (step.kernel != nullptr) {
      computes = computes || step.kernel->device() == kind;
    } else if (plan.tensors[step.inputs[0]].state.device == kind &&
               plan.tensors[step.outputs[0]].state.device == DeviceKind::kCpu) {
      ++returns;
    }
  }
  return computes ? std::max(returns, 1) : 0;
}

double RunOverheads::Evidence::ShrunkUs() const {
  return std::max(mean_us, 0.0) * runs / (runs + kPriorRuns);
}

RunOverheads::Evidence RunOverheads::Known(const Device& accelerator) const {
  const Result<Row> row = store_.Find(NetworksKey("beside the steps of a run", accelerator));
  if (!row.ok() || row->status != Row::Status::kOk) return {};
  return {row->median_us, static_cast<double>(row->samples), row->mad_us, row->low_us};
}

double RunOverheads::Us(const Device& accelerator) const {
  const Evidence known = Known(accelerator);
  return known.off_with_us < known.off_without_us ? known.ShrunkUs() : 0;
}

double RunOverheads::Us(const exec::Plan& plan, const DeviceSet& devices) const {
  double us = 0;
  for (const Device* device : devices.beside_cpu())
    if (const int waits = WaitsFor(plan, *device); waits > 0) us += waits * Us(*device);
  return us;
}

void RunOverheads::Learn(const Device& accelerator, const RunSample& sample) {
  Evidence known = Known(accelerator);
  const double beside_us = sample.run_us - sample.steps_us;
  known.off_with_us += std::fabs(beside_us - sample.waits * known.ShrunkUs());
  known.off_without_us += std::fabs(beside_us);
  known.mean_us += (beside_us / sample.waits - known.mean_us) / (known.runs + 1);
  known.runs = std::min(known.runs + 1, kMostKnownRuns);
  // How far predictions were off stands in the fields of the spread.
  store_.Put(NetworksKey("beside the steps of a run", accelerator),
             {.median_us = known.mean_us,
              .mad_us = known.off_with_us,
              .low_us = known.off_without_us,
              .samples = static_cast<int>(known.runs),
              .unix_seconds = std::time(nullptr)});
}

}  // namespace fettle::tuner
