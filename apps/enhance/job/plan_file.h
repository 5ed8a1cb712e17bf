// A plan as `--plan-only --json` writes it, maybe edited, read again by `--plan FILE`.
#pragma once

#include <filesystem>

#include "job/plan.h"

namespace fettle::enhance {

/// What a plan's file decides; the rest of it is for people.
struct PlanFile {
  std::vector<ChainLink> chain;
  std::string network;
  double level = 0, noise = 0;
  bool own_levels = false, own_noise = false;
};

/// Throws Failure: kExitInvalidInput where it cannot be read or is not a plan, kExitUsage where it
/// is of another input than `input` or names what there is not.
PlanFile ReadPlanFile(const std::filesystem::path& file, const std::filesystem::path& input);

}  // namespace fettle::enhance
