#include "planner/regimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "base/log.h"
#include "planner/known_steps.h"
#include "planner/plan_source.h"
#include "tensor/shape_text.h"

namespace fettle::planner {
namespace {

bool SameRanks(const std::vector<Shape>& a, const std::vector<Shape>& b) {
  return std::ranges::equal(a, b, {}, &Shape::rank, &Shape::rank);
}

double Logarithm(int64_t extent) {
  constexpr double kOfNothing = 0.5;
  return std::log(extent > 0 ? static_cast<double>(extent) : kOfNothing);
}

/// Of the elements of all inputs together.
double Size(const std::vector<Shape>& shapes) {
  double size = 0;
  for (const Shape& shape : shapes)
    for (const int64_t extent : shape) size += Logarithm(extent);
  return size;
}

/// Between shapes of equal ranks, where each ratio of extents is a length.
double Distance(const std::vector<Shape>& a, const std::vector<Shape>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (int axis = 0; axis < a[i].rank(); ++axis) {
      const double ratio = Logarithm(a[i][axis]) - Logarithm(b[i][axis]);
      sum += ratio * ratio;
    }
  }
  return sum;
}

std::string_view NextLine(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

void WarnOfOutside(const TunedRange& range, const ir::Graph& segment) {
  Log(LogLevel::kWarn,
      "{}: outside of the tuned range ({}); starts on the plan of its nearest size",
      InputShapes(segment),
      SizesText(segment, range.plans().front().made_for, range.plans().back().made_for));
}

}  // namespace

std::string KernelsOf(std::string_view text) {
  std::string kernels;
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    if (line.starts_with("group ")) {
      kernels += line.substr(0, line.find(" version "));
    } else if (line.starts_with("inputs") || line.starts_with("outputs")) {
      kernels += line;
    } else {
      continue;
    }
    kernels += '\n';
  }
  return kernels;
}

std::vector<Shape> InputShapesOf(const ir::Graph& graph) {
  std::vector<Shape> shapes;
  for (ir::ValueId id : graph.inputs) shapes.push_back(*graph.value(id).shape);
  return shapes;
}

TunedRange::TunedRange(std::vector<RangePlan> plans) : plans_(std::move(plans)) {
  if (plans_.empty()) return;
  const std::vector<Shape> last = plans_.back().made_for;
  std::erase_if(plans_, [&](const RangePlan& plan) { return !SameRanks(plan.made_for, last); });
  std::ranges::stable_sort(plans_, {}, [](const RangePlan& plan) { return Size(plan.made_for); });
  std::string before = KernelsOf(plans_.front().text);
  for (const RangePlan& plan : plans_) {
    std::string kernels = KernelsOf(plan.text);
    const int last_regime = regimes_.empty() ? 0 : regimes_.back();
    regimes_.push_back(last_regime + (kernels == before ? 0 : 1));
    before = std::move(kernels);
  }
}

TunedRange TunedRange::Of(const PlanBook& book, const DecisionKey& key) {
  std::vector<RangePlan> plans;
  for (BookEntry& entry : book.entries()) {
    if (entry.key.structure != key.structure || entry.key.device != key.device ||
        entry.key.threads != key.threads)
      continue;
    std::vector<Shape> made_for = MadeFor(entry.text);
    if (!made_for.empty()) plans.push_back({std::move(made_for), std::move(entry.text)});
  }
  return TunedRange(std::move(plans));
}

std::pair<int64_t, int64_t> TunedRange::ExtentsAt(size_t input, int axis) const {
  std::pair<int64_t, int64_t> extents(plans_[0].made_for[input][axis], 0);
  for (const RangePlan& plan : plans_) {
    const int64_t extent = plan.made_for[input][axis];
    extents = {std::min(extents.first, extent), std::max(extents.second, extent)};
  }
  return extents;
}

bool TunedRange::Holds(const std::vector<Shape>& shapes) const {
  if (empty() || !SameRanks(shapes, plans_[0].made_for)) return false;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (int axis = 0; axis < shapes[i].rank(); ++axis) {
      const auto [least, greatest] = ExtentsAt(i, axis);
      if (shapes[i][axis] < least || shapes[i][axis] > greatest) return false;
    }
  }
  return true;
}

std::vector<size_t> TunedRange::Nearest(const std::vector<Shape>& shapes) const {
  if (empty() || !SameRanks(shapes, plans_[0].made_for)) return {};
  std::vector<size_t> nearest(plans_.size());
  std::iota(nearest.begin(), nearest.end(), size_t{0});
  std::ranges::stable_sort(nearest, {},
                           [&](size_t i) { return Distance(plans_[i].made_for, shapes); });
  return nearest;
}

Result<exec::Plan> RangePlans::Carry(size_t index, const ir::Graph& segment,
                                     const DeviceSet& devices, int threads) {
  const RangePlan& kept = range_.plans()[index];
  std::shared_ptr<const Known> known;
  {
    const std::lock_guard lock(mutex_);
    known = known_[index];
  }
  if (known == nullptr) {
    auto parsed = std::make_shared<Known>();
    ASSIGN_OR_RETURN(parsed->decision, ParseDecision(segment, kept.text));
    parsed->decision.chains.clear();  // measured at other extents
    known = std::move(parsed);
  }
  ASSIGN_OR_RETURN(exec::Plan plan, Apply(segment, known->decision, devices, threads,
                                          ThreadsOfGroups::kDecided, known->steps));
  if (known->plans < 2) {
    auto next = std::make_shared<Known>(*known);
    next->steps =
        known->plans == 0 ? StepsOfGroups(plan) : UnchangedSteps(std::move(next->steps), plan);
    ++next->plans;
    const std::lock_guard lock(mutex_);
    known_[index] = std::move(next);
  }
  return plan;
}

Result<exec::Plan> RangePlans::PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                                       int threads) {
  const std::vector<Shape> shapes = InputShapesOf(segment);
  const std::vector<size_t> nearest = range_.Nearest(shapes);
  if (nearest.empty()) return Error(StatusCode::kNotFound, "tuned for inputs of other ranks");
  const RangePlan& first = range_.plans()[nearest[0]];
  if (first.made_for == shapes) {
    ASSIGN_OR_RETURN(const Decision decision, ParseDecision(segment, first.text));
    return Apply(segment, decision, devices, threads);
  }
  if (!range_.Holds(shapes)) WarnOfOutside(range_, segment);
  constexpr size_t kMostTried = 4;
  for (const size_t index : std::span(nearest).first(std::min(kMostTried, nearest.size()))) {
    Result<exec::Plan> plan = Carry(index, segment, devices, threads);
    if (plan.ok()) return plan;
    Log(LogLevel::kInfo, "{}: the plan of a size of the tuned range does not fit: {}",
        InputShapes(segment), plan.status().message());
  }
  ASSIGN_OR_RETURN(Decision decision, ParseDecision(segment, first.text));
  decision.chains.clear();
  for (GroupDecision& group : decision.groups) group.params.clear();
  return Apply(segment, decision, devices, threads);
}

Result<exec::Plan> PlanFromRange(const TunedRange& range, const ir::Graph& segment,
                                 const DeviceSet& devices, int threads) {
  return RangePlans(range).PlanFor(segment, devices, threads);
}

std::string SizesText(const ir::Graph& segment, const std::vector<Shape>& from,
                      const std::vector<Shape>& to) {
  std::string text;
  for (size_t i = 0; i < segment.inputs.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{} {}", i == 0 ? "" : ", ",
                   segment.value(segment.inputs[i]).name, from[i].ToString());
    if (from[i] != to[i]) text += " to " + to[i].ToString();
  }
  return text;
}

}  // namespace fettle::planner
