// How close steps come to what this machine can do at best.
#pragma once

#include <optional>
#include <vector>

#include "exec/profile.h"
#include "jobs/options.h"
#include "report/report.h"
#include "tuner/cost/roofline.h"

namespace fettle::tools {

/// The measured ceilings of the devices that steps ran on, which the database that `options` name
/// keeps. Probes what is asked about and not there.
class Roofline {
 public:
  /// `threads` of the CPU; `accelerator` may be null. Both must outlive this.
  Roofline(int threads, const Device* accelerator, const CommonOptions& options);

  /// What the step's operations and bytes (as the kernel does them) take at the ceilings
  /// (tuner/cost/roofline.h, tuner/cost/accelerator_roofline.h); 0 us where nothing is known.
  tuner::Limit LimitOf(const exec::StepProfile& step);
  tuner::Limit LimitOf(const kernels::Work& work, bool beside_cpu);
  /// The time at the ceilings over the time measured; 0 where nothing was counted or measured.
  double Share(const std::vector<exec::StepProfile>& steps);
  double Share(const exec::StepProfile& step);

 private:
  const tuner::Ceilings& CpuCeilings();
  const tuner::Ceilings& AcceleratorCeilings();

  int threads_;
  const Device* accelerator_;
  const CommonOptions& options_;
  std::optional<tuner::Ceilings> cpu_, beside_cpu_;
};

/// A step that ran, as docs/cli.md's row `bench` names it, without predictions.
Json StepJson(const exec::StepProfile& step, Roofline& roofline);

}  // namespace fettle::tools
