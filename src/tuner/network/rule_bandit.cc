#include "tuner/network/rule_bandit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace fettle::tuner {
namespace {

/// Of the bound: what is not known of a rule counts for so much.
constexpr double kExploration = 0.5;
/// Counts in a text beyond that are none of ours.
constexpr long kMostTries = 1'000'000'000;

}  // namespace

void RuleBandit::Tell(std::string_view rule, bool won) {
  Plays& plays = plays_[std::string(rule)];
  ++plays.tries;
  plays.wins += won ? 1 : 0;
  ++all_;
}

double RuleBandit::BoundOf(const std::string& rule) const {
  const auto found = plays_.find(rule);
  if (found == plays_.end()) return std::numeric_limits<double>::infinity();
  const auto tries = static_cast<double>(found->second.tries);
  return static_cast<double>(found->second.wins) / tries +
         kExploration * std::sqrt(2 * std::log(static_cast<double>(all_)) / tries);
}

std::vector<std::string> RuleBandit::Order(const std::vector<std::string>& rules) const {
  std::vector<std::string> order;
  for (const std::string& rule : rules)
    if (std::find(order.begin(), order.end(), rule) == order.end()) order.push_back(rule);
  std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
    return BoundOf(a) > BoundOf(b);
  });
  return order;
}

std::string RuleBandit::ToText() const {
  std::string text;
  for (const auto& [rule, plays] : plays_)
    text += fmt::format("{} {} {}\n", rule, plays.tries, plays.wins);
  return text;
}

void RuleBandit::Read(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string rule;
    Plays plays;
    if (!(words >> rule >> plays.tries >> plays.wins)) continue;
    if (plays.tries < 1 || plays.tries > kMostTries || plays.wins < 0 || plays.wins > plays.tries)
      continue;
    Plays& known = plays_[rule];
    all_ += plays.tries - known.tries;
    known = plays;
  }
}

}  // namespace fettle::tuner
