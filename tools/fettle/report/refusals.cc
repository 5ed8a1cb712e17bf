#include "report/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "report/terminal.h"

namespace fettle::tools {
namespace {

using planner::Explained;

/// Kernels by the reason why they were refused.
using Refusals = std::map<std::string, std::set<std::string_view>>;

Refusals RefusalsOf(const Explained& group) {
  Refusals refusals;
  for (const planner::Rejection& one : group.rejected) refusals[one.reason].insert(one.kernel);
  return refusals;
}

/// What is in both.
Refusals Common(const Refusals& a, const Refusals& b) {
  Refusals common;
  for (const auto& [reason, kernels] : a) {
    const auto other = b.find(reason);
    if (other == b.end()) continue;
    std::set<std::string_view> both;
    std::ranges::set_intersection(kernels, other->second, std::inserter(both, both.end()));
    if (!both.empty()) common.emplace(reason, std::move(both));
  }
  return common;
}

Refusals Without(const Refusals& all, const Refusals& known) {
  Refusals rest;
  for (const auto& [reason, kernels] : all) {
    const auto other = known.find(reason);
    std::set<std::string_view> more;
    std::ranges::set_difference(kernels,
                                other == known.end() ? std::set<std::string_view>() : other->second,
                                std::inserter(more, more.end()));
    if (!more.empty()) rest.emplace(reason, std::move(more));
  }
  return rest;
}

/// Whether a kernel says that it computes other operators, which is no news of this one.
bool IsOfOtherOperators(std::string_view reason) {
  return reason.starts_with("computes ") && reason.find(" only") != std::string_view::npos;
}

/// What could apply and does not, each reason with its kernels; the rest is a count.
std::string LinesOf(const Refusals& refusals) {
  std::string text;
  size_t others = 0;
  for (const auto& [reason, kernels] : refusals) {
    if (IsOfOtherOperators(reason)) {
      others += kernels.size();
    } else {
      text += Fit(fmt::format("  not {}: {}\n", fmt::join(kernels, ", "), reason), 4);
    }
  }
  if (others > 0)
    text += Fit(fmt::format("  not {} kernel{} of other operators (--json names them)\n", others,
                            others == 1 ? "" : "s"),
                4);
  return text;
}

/// "/layer1/Conv (Conv+Relu) and 3 more groups".
std::string TitleOf(const std::vector<const Explained*>& groups) {
  std::string title = fmt::format("{} ({})", groups[0]->node, groups[0]->op);
  if (groups.size() > 1)
    title += fmt::format(" and {} more group{}", groups.size() - 1, groups.size() > 2 ? "s" : "");
  return Fit(title + "\n", 4);
}

}  // namespace

std::string RefusalsText(std::span<const Explained> groups) {
  if (groups.empty()) return "";
  Refusals of_all = groups.size() > 1 ? RefusalsOf(groups[0]) : Refusals();
  for (const Explained& group : groups) of_all = Common(of_all, RefusalsOf(group));
  std::vector<std::pair<Refusals, std::vector<const Explained*>>> kinds;
  for (const Explained& group : groups) {
    Refusals own = Without(RefusalsOf(group), of_all);
    if (own.empty()) continue;
    const auto kind =
        std::ranges::find_if(kinds, [&](const auto& one) { return one.first == own; });
    if (kind != kinds.end()) {
      kind->second.push_back(&group);
    } else {
      kinds.emplace_back(std::move(own), std::vector<const Explained*>{&group});
    }
  }
  std::string text;
  if (!of_all.empty()) text += "all groups\n" + LinesOf(of_all);
  for (const auto& [refusals, members] : kinds) text += TitleOf(members) + LinesOf(refusals);
  return text;
}

}  // namespace fettle::tools
