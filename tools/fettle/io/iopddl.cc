#include "io/iopddl.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fettle::tools {
namespace {

using nlohmann::json;
using solver::Cost;
using solver::Factor;
using solver::LimitedNetwork;
using solver::Network;

/// The contest's mark of what is not allowed.
constexpr double kContestForbidden = 1e18;

std::vector<Cost> ToCosts(const json& numbers) {
  std::vector<Cost> costs;
  for (const json& number : numbers) {
    const double cost = number.get<double>();
    costs.push_back(cost >= kContestForbidden ? solver::kForbidden : cost);
  }
  return costs;
}

/// Edges name their nodes in any order; factors want them ascending.
Result<Factor> ToFactor(const Network& network, const json& nodes, std::vector<Cost> table) {
  const int first = nodes.at(0).get<int>(), second = nodes.at(1).get<int>();
  for (const int node : {first, second}) {
    if (node < 0 || node >= network.variables())
      return InvalidArgument("node {}: there are {}", node, network.variables());
  }
  const auto rows = static_cast<size_t>(network.domain(first));
  const auto columns = static_cast<size_t>(network.domain(second));
  if (first == second || table.size() != rows * columns)
    return InvalidArgument("nodes {} and {}: expected {} costs, got {}", first, second,
                           rows * columns, table.size());
  if (first < second) return Factor{{first, second}, std::move(table)};
  Factor factor{{second, first}, {}};
  for (size_t column = 0; column < columns; ++column) {
    for (size_t row = 0; row < rows; ++row) factor.table.push_back(table[row * columns + column]);
  }
  return factor;
}

Status ReadNodes(const json& instance, LimitedNetwork& problem) {
  const json& nodes = instance.at("nodes");
  for (const json& costs : nodes.at("costs")) problem.network.unary.push_back(ToCosts(costs));
  if (!instance.contains("usage_limit")) return OkStatus();
  const json& intervals = nodes.at("intervals");
  if (intervals.size() != problem.network.unary.size())
    return InvalidArgument("'intervals': expected {}, got {}", problem.network.unary.size(),
                           intervals.size());
  int steps = 0;
  for (size_t v = 0; v < intervals.size(); ++v) {
    const int begin = intervals[v].at(0).get<int>(), end = intervals[v].at(1).get<int>();
    if (begin >= end) continue;
    steps = std::max(steps, end);
    problem.held.push_back(
        {static_cast<int>(v), begin, end, nodes.at("usages").at(v).get<std::vector<int64_t>>()});
  }
  constexpr int kMostSteps = 10'000'000;
  if (steps > kMostSteps) return InvalidArgument("'intervals': more than {} steps", kMostSteps);
  problem.capacity.assign(static_cast<size_t>(steps), instance["usage_limit"].get<int64_t>());
  return OkStatus();
}

Status ReadEdges(const json& edges, LimitedNetwork& problem) {
  const json& nodes = edges.at("nodes");
  for (size_t e = 0; e < nodes.size(); ++e) {
    auto factor = ToFactor(problem.network, nodes[e], ToCosts(edges.at("costs").at(e)));
    if (!factor.ok()) return factor.status().WithContext(fmt::format("edge #{}", e));
    problem.network.factors.push_back(std::move(*factor));
  }
  return OkStatus();
}

}  // namespace

Result<IopddlInstance> ParseIopddl(std::string_view text) {
  // Numbers out of range and members of other types throw, wherever they are read.
  try {
    const json instance = json::parse(text).at("problem");
    IopddlInstance read{.name = instance.value("name", "")};
    RETURN_IF_ERROR(ReadNodes(instance, read.problem));
    RETURN_IF_ERROR(ReadEdges(instance.at("edges"), read.problem));
    return read;
  } catch (const json::exception& error) {
    return InvalidArgument("not an instance of the IOPDDL contest: {}", error.what());
  }
}

}  // namespace fettle::tools
