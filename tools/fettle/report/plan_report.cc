#include "report/plan_report.h"

#include <fmt/format.h>

#include "kernels/params_text.h"
#include "passes/groups.h"
#include "report/refusals.h"
#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

std::string StateText(const ir::Graph& graph, const std::vector<ir::ValueId>& ids,
                      const std::vector<State>& states) {
  return ids.empty() ? "" : StateName(states[0], graph.value(ids[0]).shape->rank());
}

Json ParamsJson(const kernels::Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params) json[name] = value;
  return json;
}

Json GroupJson(const ir::Graph& graph, passes::GroupCutter& cutter,
               const planner::GroupDecision& group) {
  const passes::Fragment fragment = cutter.Cut(group.nodes);
  return {{"node", planner::NamesOf(graph, group.nodes)},
          {"op", planner::OpsOf(*fragment.graph)},
          {"kernel", group.kernel},
          {"params", ParamsJson(group.params)},
          {"threads", group.threads},
          {"state_in", StateText(graph, fragment.inputs, group.states.inputs)},
          {"state_out", StateText(graph, fragment.outputs, group.states.outputs)},
          {"ms", group.us * 1e-3}};
}

/// " (proposed by: mace-2d, the best of 12)".
std::string ProposedText(const planner::Explained& group) {
  if (group.proposed_by.empty()) return "";
  return fmt::format(" (proposed by: {}, the best of {})", group.proposed_by, group.evaluations);
}

}  // namespace

Json ConversionJson(const ir::Graph& graph, const planner::ConversionDecision& conversion) {
  const int rank = graph.value(conversion.value).shape->rank();
  return {{"value", graph.value(conversion.value).name},
          {"from", StateName(conversion.from, rank)},
          {"to", StateName(conversion.to, rank)},
          {"ms", conversion.us * 1e-3}};
}

Json PlanJson(const tuner::TuneModelResult& result) {
  Json nodes = Json::array(), conversions = Json::array();
  double gap = 0;
  for (const tuner::TunedSegment& segment : result.segments) {
    passes::GroupCutter cutter(*segment.graph);
    for (const planner::GroupDecision& group : segment.decision.groups)
      nodes.push_back(GroupJson(*segment.graph, cutter, group));
    for (const planner::ConversionDecision& conversion : segment.decision.conversions)
      conversions.push_back(ConversionJson(*segment.graph, conversion));
    gap = std::max(gap, segment.decision.gap);
  }
  return {{"optimal", gap <= 0 && !result.report.stopped && result.gate.accepted},
          {"gap", gap},
          {"predicted_ms", KnownMs(result.predicted_us)},
          {"alone_ms", KnownMs(result.alone_us)},
          {"nodes", std::move(nodes)},
          {"conversions", std::move(conversions)}};
}

std::vector<exec::StepProfile> StepsOf(const ir::Graph& graph, const planner::Decision& decision) {
  std::vector<exec::StepProfile> steps;
  passes::GroupCutter cutter(graph);
  for (const planner::GroupDecision& group : decision.groups) {
    exec::StepProfile step;
    step.node = planner::NamesOf(graph, group.nodes);
    const passes::Fragment fragment = cutter.Cut(group.nodes);
    step.op = planner::OpsOf(*fragment.graph);
    step.kernel = group.kernel;
    step.device = "cpu";
    if (!group.states.outputs.empty()) {
      const State& state = group.states.outputs[0];
      const std::string name = StateName(state, graph.value(fragment.outputs[0]).shape->rank());
      step.device = name.substr(0, name.find(':'));
      step.dtype = DTypeName(state.storage);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

Json ExplainedJson(const planner::Explained& group, const tuner::Limit* limit) {
  Json rejected = Json::array();
  for (const planner::Rejection& one : group.rejected)
    rejected.push_back({{"kernel", one.kernel}, {"reason", one.reason}});
  Json json = {{"node", group.node},
               {"op", group.op},
               {"kernel", group.kernel},
               {"params", ParamsJson(group.params)},
               {"proposed_by", nullptr},
               {"evaluations", group.evaluations},
               {"threads", group.threads},
               {"state_in", group.state_in},
               {"state_out", group.state_out},
               {"ms", group.us * 1e-3},
               {"alone_ms", group.alone_us * 1e-3},
               {"measured", group.measured},
               {"predicted_from", group.predicted},
               {"runner_up", nullptr},
               {"runner_up_ms", nullptr},
               {"choices", group.choices},
               {"rejected", std::move(rejected)}};
  if (limit != nullptr) {
    json["operations"] = group.work.operations;
    json["least_bytes"] = group.work.bytes;
    json["bound_by"] = limit->by;
    json["bound_ms"] = limit->us * 1e-3;
    json["cold_bound_ms"] = limit->cold_us * 1e-3;
    json["lost_ms"] = (group.us - limit->us) * 1e-3;
  }
  if (!group.proposed_by.empty()) json["proposed_by"] = group.proposed_by;
  if (group.runner_up.empty()) return json;
  json["runner_up"] = group.runner_up;
  json["runner_up_ms"] = group.runner_up_us * 1e-3;
  json["runner_up_measured"] = group.runner_up_measured;
  return json;
}

std::string ConversionsText(const Json& conversions) {
  if (conversions.empty()) return "";
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"converted value"}, {"from"}, {"to"}, {"us", kRight}});
  for (const Json& one : conversions)
    table.Row({one["value"].get<std::string>(), one["from"].get<std::string>(),
               one["to"].get<std::string>(), fmt::format("{:.1f}", 1e3 * one["ms"].get<double>())});
  return "\n" + table.ToString();
}

namespace {

/// The parameters of a group; "" where it has none.
std::string SettingText(const planner::Explained& group) {
  if (group.params.empty()) return "";
  return Fit(fmt::format("{} ({})\n  parameters: {}{}\n", group.node, group.op,
                         kernels::PrintParams(group.params, ", "), ProposedText(group)),
             4);
}

/// What a measured group takes beyond its limit is known.
bool KnowsLoss(const planner::Explained& group, const tuner::Limit& limit) {
  return group.measured && limit.us > 0 && group.us > 0;
}

/// `with_losses`: of at least one group it is known.
std::vector<Table::Column> ExplainedColumns(bool with_limits, bool with_losses) {
  constexpr auto kRight = Table::Align::kRight;
  std::vector<Table::Column> columns = {{.title = "node", .least = 19},
                                        {.title = "op", .leaves = 6},
                                        {.title = "kernel", .least = 18},
                                        {.title = "in", .leaves = 1},
                                        {.title = "out", .leaves = 4},
                                        {.title = "threads", .align = kRight, .leaves = 3},
                                        {"us", kRight},
                                        {.title = "alone", .align = kRight, .leaves = 5},
                                        {.title = "choices", .align = kRight, .leaves = 2},
                                        {.title = "runner-up", .leaves = 11, .least = 12},
                                        {.title = "us", .align = kRight, .leaves = 10}};
  if (with_losses) {
    columns.push_back({.title = "lost us", .align = kRight, .leaves = 12});
    columns.push_back({.title = "of best", .align = kRight, .leaves = 8});
  }
  if (with_limits) columns.push_back({.title = "bound by", .leaves = 7});
  return columns;
}

}  // namespace

std::string ExplainedText(const std::vector<planner::Explained>& groups,
                          const std::vector<tuner::Limit>& limits, SortOrder sort) {
  const bool with_limits = !limits.empty();
  bool with_losses = false;
  for (size_t i = 0; i < limits.size(); ++i) with_losses |= KnowsLoss(groups[i], limits[i]);
  Table table(ExplainedColumns(with_limits, with_losses));
  // "~": a bound or a prediction, which nobody has measured here.
  const auto us = [](double value, bool measured) {
    return fmt::format("{}{:.1f}", measured ? "" : "~", value);
  };
  const bool by_loss = with_limits && sort == SortOrder::kOwn;
  const auto time = [&](size_t i) { return groups[i].us - (by_loss ? limits[i].us : 0); };
  std::string settings;
  for (const size_t at : Sorted(groups.size(), by_loss ? SortOrder::kTime : sort, time,
                                [&](size_t i) { return std::string_view(groups[i].node); })) {
    const planner::Explained& group = groups[at];
    const bool other = !group.runner_up.empty();
    std::vector<std::string> cells = {
        StepLabel(group.node),
        group.op,
        group.kernel,
        group.state_in,
        group.state_out,
        fmt::format("{}", group.threads),
        us(group.us, group.measured),
        fmt::format("{:.1f}", group.alone_us),
        fmt::format("{}", group.choices),
        other ? group.runner_up : "-",
        other ? us(group.runner_up_us, group.runner_up_measured) : ""};
    if (with_losses) {
      const double limit = limits[at].us;
      const bool known = KnowsLoss(group, limits[at]);
      cells.push_back(known ? fmt::format("{:.1f}", group.us - limit) : "");
      cells.push_back(known ? fmt::format("{:.1f} %", 100 * limit / group.us) : "");
    }
    if (with_limits) {
      cells.push_back(limits[at].by);
      settings += SettingText(group);
    }
    table.Row(std::move(cells));
  }
  std::string text = table.ToString();
  if (!settings.empty()) text += "\n" + settings;
  return with_limits ? text + "\n" + RefusalsText(groups) : text;
}

}  // namespace fettle::tools
