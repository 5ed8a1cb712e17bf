#include "kernels/launch_tunables.h"

namespace fettle::kernels {

const TunableLaunches* LaunchesOf(const PreparedKernel& kernel) {
  return dynamic_cast<const TunableLaunches*>(&kernel);
}

namespace {

/// Gives `prepared` what of `params` is not among `own`, the kernel's parameters, if it takes it.
Result<std::unique_ptr<PreparedKernel>> WithLaunches(std::unique_ptr<PreparedKernel> prepared,
                                                     const Params& own, const Params& params,
                                                     const Device& device) {
  auto* const launches = dynamic_cast<TunableLaunches*>(prepared.get());
  if (launches == nullptr) return prepared;
  Params rest = params;
  for (const auto& [name, value] : own) rest.erase(name);
  if (!rest.empty()) RETURN_IF_ERROR(launches->Adopt(rest, device));
  return prepared;
}

}  // namespace

Result<std::unique_ptr<PreparedKernel>> PrepareWithLaunches(const Match& match,
                                                            const Setting& setting,
                                                            const Device& device) {
  ASSIGN_OR_RETURN(std::unique_ptr<PreparedKernel> prepared, match.Prepare(setting));
  if (setting.params.empty() || LaunchesOf(*prepared) == nullptr) return prepared;
  return WithLaunches(std::move(prepared), match.params(setting.states, setting.threads).usual,
                      setting.params, device);
}

Result<std::unique_ptr<PreparedKernel>> PrepareWithLaunches(const KernelDesc& kernel,
                                                            const Problem& problem,
                                                            const Params& params,
                                                            const Device& device) {
  ASSIGN_OR_RETURN(std::unique_ptr<PreparedKernel> prepared,
                   PrepareKernel(kernel, problem, params, device));
  if (params.empty() || LaunchesOf(*prepared) == nullptr) return prepared;
  return WithLaunches(std::move(prepared), DefaultParams(kernel, problem, device), params, device);
}

}  // namespace fettle::kernels
