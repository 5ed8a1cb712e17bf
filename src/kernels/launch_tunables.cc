#include "kernels/launch_tunables.h"

namespace fettle::kernels {

const TunableLaunches* LaunchesOf(const PreparedKernel& kernel) {
  return dynamic_cast<const TunableLaunches*>(&kernel);
}

Result<std::unique_ptr<PreparedKernel>> PrepareWithLaunches(const Match& match,
                                                            const Setting& setting,
                                                            const Device& device) {
  ASSIGN_OR_RETURN(std::unique_ptr<PreparedKernel> prepared, match.Prepare(setting));
  auto* const launches = dynamic_cast<TunableLaunches*>(prepared.get());
  if (launches == nullptr || setting.params.empty()) return prepared;
  // What the kernel has a parameter of its own for is its own business.
  Params rest = setting.params;
  for (const auto& [name, value] : match.params(setting.states, setting.threads).usual)
    rest.erase(name);
  if (!rest.empty()) RETURN_IF_ERROR(launches->Adopt(rest, device));
  return prepared;
}

Result<std::unique_ptr<PreparedKernel>> PrepareWithLaunches(const KernelDesc& kernel,
                                                            const Problem& problem,
                                                            const Params& params,
                                                            const Device& device) {
  ASSIGN_OR_RETURN(const auto match, MatchGroup(kernel, problem.group, device));
  ASSIGN_OR_RETURN(const int states, FindStates(kernel, *match, problem.states));
  return PrepareWithLaunches(*match, {states, problem.threads, params}, device);
}

}  // namespace fettle::kernels
