#include "analysis/scene_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tables/formulas.h"

namespace fettle::enhance {
namespace {

SceneStep OfTable(const ChainLink& link, Formula formula, const StepSetup& setup,
                  const Measures& scene, std::string reason) {
  const LumaRange range = setup.full_range ? LumaRange{0, 255} : LumaRange{};
  const Scene seen{.light = scene.light, .black = scene.black, .white = scene.white};
  const Tables tables = formula(seen, range, link.strength);
  return {link.row->name, tables.has_tone || tables.has_detail, std::move(reason)};
}

SceneStep Of(const ChainLink& link, const StepSetup& setup, const Measures& scene) {
  if (link.row->make == MakeDeblock) {
    const double level = setup.own_levels && scene.level_told ? scene.level : setup.level;
    return {link.row->name, link.strength * DeblockShare(level) > 0,
            fmt::format("level {:.1f}", level)};
  }
  if (link.row->make == MakeDenoise) {
    const double sigma = setup.own_noise ? scene.noise : setup.noise;
    const bool hidden =
        setup.own_noise && setup.own_levels && scene.level_told && scene.level >= kCodingHidesNoise;
    return {link.row->name, !hidden && link.strength * DenoiseShare(sigma) > 0,
            fmt::format("sigma {:.1f}{}", sigma, hidden ? ", which deblock removes" : "")};
  }
  if (link.row->make == MakeLowLight)
    return OfTable(link, LowLightTables, setup, scene, fmt::format("light {:.0f}", scene.light));
  if (link.row->make == MakeClarity)
    return OfTable(link, ClarityTables, setup, scene, fmt::format("black {:.0f}", scene.black));
  const bool always = link.row->make == nullptr || link.row->make == MakeAlert;
  return {link.row->name, always || link.strength > 0, ""};
}

}  // namespace

std::vector<SceneStep> StepsOf(const std::vector<ChainLink>& chain, const StepSetup& setup,
                               const Measures& scene) {
  std::vector<SceneStep> steps;
  for (const ChainLink& link : chain) steps.push_back(Of(link, setup, scene));
  return steps;
}

std::string TextOf(const std::vector<SceneStep>& steps) {
  std::vector<std::string> act, pass;
  for (const SceneStep& one : steps)
    (one.acts ? act : pass)
        .push_back(one.reason.empty() ? std::string(one.step)
                                      : fmt::format("{} ({})", one.step, one.reason));
  std::string text = fmt::format("{}", fmt::join(act, ", "));
  if (!pass.empty())
    text += fmt::format("{}passes {}", text.empty() ? "" : "; ", fmt::join(pass, ", "));
  return text;
}

}  // namespace fettle::enhance
