#include "kernels/family.h"

namespace fettle::kernels {

Problem MatchedGroup::ProblemOf(int states, int threads) const {
  return {group_, states_[states], threads};
}

Params MatchedGroup::ParamsOf(const Setting& setting) const {
  if (!has_params_) return {};
  if (setting.is_complete) return setting.params;
  Params params = this->params(setting.states, setting.threads).usual;
  for (const auto& [name, value] : setting.params) params[name] = value;
  return params;
}

}  // namespace fettle::kernels
