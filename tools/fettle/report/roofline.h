// How close steps come to what this machine can do at best.
#pragma once

#include <optional>
#include <vector>

#include "exec/profile.h"
#include "jobs/options.h"
#include "tuner/cost/roofline.h"

namespace fettle::tools {

/// The measured ceilings of the devices that steps ran on. Probes what it is asked about.
class Roofline {
 public:
  /// `threads` of the CPU; `accelerator` may be null, its ceilings are kept in the database that
  /// `options` name. Both must outlive this.
  Roofline(int threads, const Device* accelerator, const CommonOptions& options);

  /// The time that the steps' operations and bytes (as the kernels do them) take at the ceilings
  /// (tuner/cost/roofline.h, tuner/cost/accelerator_roofline.h) over the time measured; 0 where
  /// nothing was counted or measured.
  double Share(const std::vector<exec::StepProfile>& steps);
  double Share(const exec::StepProfile& step);

 private:
  double CeilingMs(const exec::StepProfile& step);
  const tuner::Ceilings& CpuCeilings();
  const tuner::Ceilings& AcceleratorCeilings();

  int threads_;
  const Device* accelerator_;
  const CommonOptions& options_;
  tuner::Ceilings cpu_;
  std::optional<tuner::Ceilings> beside_cpu_;
};

}  // namespace fettle::tools
