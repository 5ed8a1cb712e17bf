#include "ranges/regime_facts.h"

#include <algorithm>

#include "planner/regimes.h"

namespace fettle::tools {
namespace {

planner::TunedRange RangeOf(const ChosenPlans& plans, const ir::Graph& segment,
                            const runtime::Session& session) {
  const DeviceSet& devices = session.devices();
  if (plans.package != nullptr) {
    const planner::PlanBook& book = plans.package->book();
    return planner::TunedRange::Of(book, planner::KeyIn(book, segment, devices, session.limits()));
  }
  if (plans.learned == nullptr) return {};
  return tuner::FindRange(planner::KeyOf(segment, devices, session.limits()), *plans.store);
}

std::optional<RegimeFacts> FactsOf(const planner::TunedRange& range, const ir::Graph& segment) {
  const std::vector<Shape> shapes = planner::InputShapesOf(segment);
  const std::vector<size_t> nearest = range.Nearest(shapes);
  if (nearest.empty()) return std::nullopt;
  const int regime = range.regimes()[nearest[0]];
  const auto text = [&](size_t from, size_t to) {
    return planner::SizesText(segment, range.plans()[from].made_for, range.plans()[to].made_for);
  };
  const std::vector<int>& all = range.regimes();
  const auto [first, last] = std::equal_range(all.begin(), all.end(), regime);
  const auto begin = static_cast<size_t>(first - all.begin());
  return RegimeFacts{.regime = regime + 1,
                     .regimes = range.regimes().back() + 1,
                     .inside = range.Holds(shapes),
                     .tuned_at = text(nearest[0], nearest[0]),
                     .sizes = text(begin, begin + static_cast<size_t>(last - first) - 1)};
}

}  // namespace

std::string RegimeFacts::Text() const {
  return fmt::format("regime {} of {} ({}), whose plan was tuned at {}{}", regime, regimes, sizes,
                     tuned_at, inside ? "" : "; outside of the tuned range");
}

Json RegimeFacts::ToJson() const {
  return {{"regime", regime},
          {"regimes", regimes},
          {"inside", inside},
          {"tuned_at", tuned_at},
          {"sizes", sizes}};
}

std::optional<RegimeFacts> FindRegime(const ChosenPlans& plans,
                                      const std::vector<ir::Graph>& segments,
                                      const runtime::Session& session) {
  for (const ir::Graph& segment : segments) {
    auto facts = FactsOf(RangeOf(plans, segment, session), segment);
    if (facts) return facts;
  }
  return std::nullopt;
}

}  // namespace fettle::tools
