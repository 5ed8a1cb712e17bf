#include "kernels/opencl/launch_params.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace fettle::kernels {
namespace {

constexpr std::string_view kUnrollPragma = "#pragma unroll", kUnrollMacro = "_Pragma(\"unroll\")";
/// What relaxed arithmetic may speed up.
constexpr std::string_view kCostly[] = {
    "FETTLE_MULTIPLY_ADD", "exp(", "log(", "pow(", "tanh(", "sin(", "sqrt(", "erf("};
/// Items of the group that lists are looked through from. Lists are proposed whole, but for Arm's
/// large grid, which has 252 sets.
constexpr double kUsualItems = 128;
constexpr size_t kWholeList = std::numeric_limits<size_t>::max(), kOfArmNormal = 6;

std::string Replaced(std::string_view text, std::string_view from, std::string_view to,
                     std::string_view unless_followed_by) {
  std::string result;
  while (true) {
    const size_t at = text.find(from);
    if (at == std::string_view::npos) return result += text;
    result += text.substr(0, at);
    text.remove_prefix(at + from.size());
    const bool kept = !unless_followed_by.empty() && text.starts_with(unless_followed_by);
    result += kept ? from : to;
  }
}

size_t ItemsOf(const WorkShape& lws) { return lws[0] * lws[1] * lws[2]; }

/// Those that fit, from groups of the usual size on outwards; `most` of them.
std::vector<WorkShape> Nearest(std::vector<WorkShape> shapes, const WorkGroupLimits& limits,
                               size_t most = kWholeList) {
  std::erase_if(shapes, [&](const WorkShape& shape) { return !Fits(shape, limits); });
  const auto distance = [](const WorkShape& shape) {
    return std::fabs(std::log2(static_cast<double>(ItemsOf(shape)) / kUsualItems));
  };
  std::stable_sort(shapes.begin(), shapes.end(), [&](const WorkShape& a, const WorkShape& b) {
    return distance(a) < distance(b);
  });
  if (shapes.size() > most) shapes.resize(most);
  return shapes;
}

}  // namespace

int64_t LaunchValue(const Params& params, std::string_view name) {
  const auto found = params.find(name);
  return found == params.end() ? 0 : found->second;
}

ProgramSource VariantOf(const ProgramSource& source, const Params& params) {
  ProgramSource variant = source;
  if (LaunchValue(params, kFastMath) > 0)
    variant.options += (variant.options.empty() ? "" : " ") + std::string("-cl-fast-relaxed-math");
  if (LaunchValue(params, kLoops) > 0) {
    variant.text = Replaced(variant.text, kUnrollPragma, "#pragma unroll 1", " ");
    variant.text = Replaced(variant.text, kUnrollMacro, "_Pragma(\"unroll 1\")", "");
  }
  if (const int64_t form = LaunchValue(params, kMultiplyAdd); form > 0)
    variant.text = fmt::format("#define FETTLE_MULTIPLY_ADD {}\n{}", form, variant.text);
  return variant;
}

std::vector<Tunable> ProgramTunables(const ProgramSource& source) {
  const std::string_view text = source.text;
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  std::vector<Tunable> tunables;
  if (has("FETTLE_MULTIPLY_ADD")) tunables.push_back({std::string(kMultiplyAdd), {0, 1, 2}});
  if (has(kUnrollPragma) || has(kUnrollMacro)) tunables.push_back({std::string(kLoops), {0, 1}});
  if (std::any_of(std::begin(kCostly), std::end(kCostly), has))
    tunables.push_back({std::string(kFastMath), {0, 1}});
  return tunables;
}

std::vector<GroupProposal> ProposeGroups(const OpenClFacts& facts, const WorkShape& gws,
                                         int64_t kernel_limit) {
  const WorkGroupLimits limits = LimitsOf(facts, kernel_limit);
  struct Rule {
    std::string_view name;
    std::vector<WorkShape> shapes;
  };
  const Rule rules[] = {
      {"units", {UnitLws(gws, facts.compute_units, limits)}},
      {"rows", {RowLws(gws, 256, limits), RowLws(gws, 64, limits)}},
      {"mace-cache", Nearest({CacheLws(gws, limits.items, facts.global_cache_bytes)}, limits)},
      {"mnn-cores", {MnnLws(gws, facts.compute_units, limits)}},
      {"mace-3d", Nearest(RowCandidates3d(gws, limits.items), limits)},
      {"mace-2d", Nearest(FullCandidates2d(limits.items), limits)},
      {"mnn-1x1", Nearest(MnnCandidates(MnnKernel::kConv1x1, gws, limits), limits)},
      {"mnn-depthwise", Nearest(MnnCandidates(MnnKernel::kDepthwise, gws, limits), limits)},
      {"arm-rapid", Nearest(ArmCandidates(ArmGrid::kRapid, limits), limits)},
      {"arm-normal", Nearest(ArmCandidates(ArmGrid::kNormal, limits), limits, kOfArmNormal)},
  };
  std::vector<GroupProposal> proposals;
  std::set<std::pair<std::string_view, WorkShape>> seen;
  const auto heard = [](const Rule& rule, size_t turn) { return turn >= rule.shapes.size(); };
  for (size_t turn = 0;; ++turn) {
    if (std::all_of(std::begin(rules), std::end(rules),
                    [&](const Rule& rule) { return heard(rule, turn); }))
      return proposals;
    for (const Rule& rule : rules) {
      if (!heard(rule, turn) && seen.insert({rule.name, rule.shapes[turn]}).second)
        proposals.push_back({rule.name, rule.shapes[turn]});
    }
  }
}

}  // namespace fettle::kernels
