// Which steps of a chain change a scene, and by which of its figures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/survey.h"
#include "steps/step.h"

namespace fettle::enhance {

struct SceneStep {
  std::string_view step;
  bool acts = false;  // else the scene's frames pass as they are
  std::string reason;
};

/// By the formulas that the steps themselves follow. `setup` is that of the chain's first step.
std::vector<SceneStep> StepsOf(const std::vector<ChainLink>& chain, const StepSetup& setup,
                               const Measures& scene);

/// "deblock (level 38.0), superres; passes lowlight (light 120)".
std::string TextOf(const std::vector<SceneStep>& steps);

}  // namespace fettle::enhance
