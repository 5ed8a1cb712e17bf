#include "tuner/model/kept_plans.h"

#include <charconv>
#include <map>
#include <set>

#include "kernels/build_id.h"
#include "planner/planner.h"
#include "tensor/shape_text.h"

namespace fettle::tuner {
namespace {

std::string_view HashOf(std::string_view build) { return build.substr(0, build.find(' ')); }

std::string PlanKey(const planner::DecisionKey& key) {
  return fmt::format("plan {} {}", kernels::Toolchain(), planner::PrintKey(key));
}

std::string VerdictKey(const planner::DecisionKey& key) {
  return fmt::format("gate {} {}", kernels::Toolchain(), planner::PrintKey(key));
}

/// Of all graphs of a structure.
std::string RangeKey(planner::DecisionKey key) {
  key.graph = 0;
  return fmt::format("range {} {}", kernels::Toolchain(), planner::PrintKey(key));
}

/// Of a chain's program and how its work-groups meet: another one is tried again.
constexpr int kChainVersion = 1;
std::string ChainsKey(const planner::DecisionKey& key) {
  return fmt::format("chains {} {} {}", kChainVersion, kernels::Toolchain(),
                     planner::PrintKey(key));
}

/// "accepted incumbent_us challenger_us ratio low high", then the plan that was judged.
std::string PrintVerdict(const GateResult& gate, std::string_view plan) {
  return fmt::format("{} {} {} {} {} {}\n{}", gate.accepted ? 1 : 0, gate.incumbent_us,
                     gate.challenger_us, gate.ratio, gate.low, gate.high, plan);
}

bool ParseVerdict(std::string_view text, std::string_view plan, GateResult& gate) {
  const size_t line = text.find('\n');
  if (line == std::string_view::npos || text.substr(line + 1) != plan) return false;
  double numbers[6] = {};
  const char* at = text.data();
  const char* end = text.data() + line;
  for (double& number : numbers) {
    while (at < end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return false;
    at = next;
  }
  gate = {.accepted = numbers[0] != 0,
          .incumbent_us = numbers[1],
          .challenger_us = numbers[2],
          .ratio = numbers[3],
          .low = numbers[4],
          .high = numbers[5],
          .reason = "as measured before for the same plan"};
  return true;
}

Result<std::string> FindStamped(Store& store, const std::string& key) {
  ASSIGN_OR_RETURN(const std::string kept, store.FindDecision(key));
  return Unstamp(kept);
}

}  // namespace

std::string Stamp(const planner::Decision& decision, std::string_view text) {
  std::set<std::string> names;
  for (const planner::GroupDecision& group : decision.groups) names.insert(group.kernel);
  std::string stamped = "kernels";
  for (const std::string& name : names)
    stamped += fmt::format(" {}={}", name, HashOf(kernels::BuildOf(name)));
  stamped += '\n';
  return stamped += text;
}

Result<std::string> Unstamp(std::string_view kept) {
  constexpr std::string_view kBegin = "kernels";
  const size_t end = kept.find('\n');
  if (!kept.starts_with(kBegin) || end == std::string_view::npos)
    return Error(StatusCode::kCorrupt, "no kernels are named");
  for (std::string_view line = kept.substr(0, end).substr(kBegin.size()); !line.empty();) {
    line.remove_prefix(1);
    const std::string_view word = line.substr(0, line.find(' '));
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      return Error(StatusCode::kCorrupt, "'{}' names no kernel", word);
    const std::string_view name = word.substr(0, equals);
    if (word.substr(equals + 1) != HashOf(kernels::BuildOf(name)))
      return Error(StatusCode::kVersionMismatch, "kernel {}: its sources have changed", name);
    line.remove_prefix(word.size());
  }
  return std::string(kept.substr(end + 1));
}

namespace {

Result<LearnedDecision> FindLearnedAt(const planner::DecisionKey& key, const ir::Graph& segment,
                                      const DeviceSet& devices, const planner::Limits& limits,
                                      Store& store) {
  ASSIGN_OR_RETURN(const std::string text, FindStamped(store, PlanKey(key)));
  LearnedDecision learned;
  ASSIGN_OR_RETURN(learned.decision, planner::ParseDecision(segment, text));
  ASSIGN_OR_RETURN(learned.plan,
                   planner::Apply(segment, learned.decision, devices, limits.threads));
  return learned;
}

}  // namespace

Result<LearnedDecision> FindLearned(const ir::Graph& segment, const DeviceSet& devices,
                                    const planner::Limits& limits, Store& store) {
  return FindLearnedAt(planner::KeyOf(segment, devices, limits), segment, devices, limits, store);
}

void KeepLearned(const planner::DecisionKey& key, const planner::Decision& decision,
                 std::string_view text, Store& store) {
  store.PutDecision(PlanKey(key), Stamp(decision, text));
}

void KeepVerdict(const planner::DecisionKey& key, const planner::Decision& decision,
                 std::string_view plan, const GateResult& gate, Store& store) {
  store.PutDecision(VerdictKey(key), Stamp(decision, PrintVerdict(gate, plan)));
}

Result<GateResult> FindVerdict(const planner::DecisionKey& key, std::string_view plan,
                               Store& store) {
  ASSIGN_OR_RETURN(const std::string kept, FindStamped(store, VerdictKey(key)));
  GateResult gate;
  if (!ParseVerdict(kept, plan, gate))
    return Error(StatusCode::kNotFound, "another plan was judged");
  return gate;
}

void KeepChains(const planner::DecisionKey& key, const planner::Decision& decision,
                std::string_view plan, const std::vector<TriedChain>& tried, Store& store) {
  store.PutDecision(ChainsKey(key),
                    Stamp(decision, fmt::format("{}\n{}", PrintChains(tried), plan)));
}

Result<std::vector<TriedChain>> FindChains(const planner::DecisionKey& key, std::string_view plan,
                                           Store& store) {
  ASSIGN_OR_RETURN(const std::string kept, FindStamped(store, ChainsKey(key)));
  const size_t end = kept.find("\n\n");
  const std::string_view text = kept;
  // Nothing was tried: the empty line comes first.
  const size_t lines = kept.starts_with('\n') ? 0 : end + 1;
  if ((lines > 0 && end == std::string::npos) || (!plan.empty() && text.substr(lines + 1) != plan))
    return Error(StatusCode::kNotFound, "another plan was tried");
  return ParseChains(text.substr(0, lines));
}

void KeepRange(const std::vector<RangeSize>& sizes, Store& store) {
  std::map<std::string, std::string> texts;
  for (const RangeSize& size : sizes)
    texts[RangeKey(size.key)] +=
        fmt::format("{:016x} {}\n", size.key.graph, ShapesText(size.made_for));
  for (const auto& [key, text] : texts) store.PutDecision(key, text);
}

planner::TunedRange FindRange(const planner::DecisionKey& key, Store& store) {
  const Result<std::string> kept = store.FindDecision(RangeKey(key));
  if (!kept.ok()) return {};
  std::vector<planner::RangePlan> plans;
  planner::DecisionKey of_size = key;
  std::string_view rest = *kept;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const char* const end = line.data() + line.size();
    const auto [next, error] = std::from_chars(line.data(), end, of_size.graph, 16);
    if (error != std::errc() || next == end) return {};
    std::optional<std::vector<Shape>> shapes = ShapesFromText(std::string_view(next + 1, end));
    Result<std::string> text = FindStamped(store, PlanKey(of_size));
    if (shapes && text.ok()) plans.push_back({*std::move(shapes), *std::move(text)});
  }
  return planner::TunedRange(std::move(plans));
}

Result<exec::Plan> LearnedPlans::PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                                         const planner::Limits& limits) {
  if (limits.reference_only) return planner::MakePlan(segment, devices, limits);
  const planner::DecisionKey key = planner::KeyOf(segment, devices, limits);
  const Result<LearnedDecision> learned = FindLearnedAt(key, segment, devices, limits, *store_);
  if (!learned.ok()) return FromRange(key, segment, devices, limits);
  ++found_;
  predicted_us_ = predicted_us_ + learned->decision.predicted_us;
  return learned->plan;
}

Result<exec::Plan> LearnedPlans::FromRange(const planner::DecisionKey& key,
                                           const ir::Graph& segment, const DeviceSet& devices,
                                           const planner::Limits& limits) {
  const planner::TunedRange range = FindRange(key, *store_);
  if (range.empty()) return planner::MakePlan(segment, devices, limits);
  Result<exec::Plan> plan = planner::PlanFromRange(range, segment, devices, limits.threads);
  if (!plan.ok()) return planner::MakePlan(segment, devices, limits);
  ++found_;
  ++(range.Holds(planner::InputShapesOf(segment)) ? in_range_ : outside_);
  return plan;
}

}  // namespace fettle::tuner
