// Parameters of how a kernel is built and launched, whatever it computes: work-groups, compiler
// options. They belong to no kernel; a prepared one says which it has.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// A set of parameters that a rule of thumb proposes.
struct RuleParams {
  std::string_view rule;
  Params params;
};

/// A PreparedKernel implements this too where its launches may be varied. A parameter that a set
/// leaves out or sets to 0 keeps the kernel's value. Parameters whose names begin with "group_"
/// compile nothing new.
class TunableLaunches {
 public:
  virtual ~TunableLaunches() = default;
  virtual std::vector<Tunable> launch_tunables() const = 0;
  /// Whether it can be launched with `params`.
  virtual Status CheckLaunch(const Params& params) const = 0;
  /// What rules of thumb propose, the most promising first; all pass CheckLaunch.
  virtual std::vector<RuleParams> launch_rules() const = 0;
  /// Applies the launch tunables among `params` that work here; plans may come from other devices.
  /// Before the first launch.
  virtual Status Adopt(const Params& params, const Device& device) = 0;
};

/// Null where nothing of its launches may be varied.
const TunableLaunches* LaunchesOf(const PreparedKernel& kernel);

/// Makes a kernel ready with its own parameters and those of its launches.
Result<std::unique_ptr<PreparedKernel>> PrepareWithLaunches(const Match& match,
                                                            const Setting& setting,
                                                            const Device& device);
Result<std::unique_ptr<PreparedKernel>> PrepareWithLaunches(const KernelDesc& kernel,
                                                            const Problem& problem,
                                                            const Params& params,
                                                            const Device& device);

}  // namespace fettle::kernels
