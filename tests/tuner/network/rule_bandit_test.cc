#include "tuner/network/rule_bandit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fettle::tuner {
namespace {

using testing::ElementsAre;

const std::vector<std::string> kRules{"a", "b", "a", "c"};

TEST(RuleBandit, HearsEachRuleFirst) {
  RuleBandit bandit;
  EXPECT_THAT(bandit.Order(kRules), ElementsAre("a", "b", "c"));
  bandit.Tell("a", true);
  EXPECT_THAT(bandit.Order(kRules), ElementsAre("b", "c", "a"));
}

TEST(RuleBandit, PutsWhatWinsFirstAndForgetsNobody) {
  RuleBandit bandit;
  std::map<std::string, int> first;
  for (int slot = 0; slot < 200; ++slot) {
    const std::string rule = bandit.Order(kRules).front();
    ++first[rule];
    bandit.Tell(rule, rule == "c" ? slot % 2 == 0 : slot % 10 == 0);
  }
  EXPECT_GT(first["c"], 2 * std::max(first["a"], first["b"]));
  EXPECT_GT(std::min(first["a"], first["b"]), 5);
}

TEST(RuleBandit, IsTheSameFromItsText) {
  RuleBandit bandit, again;
  for (const char* rule : {"c", "b", "c", "a"}) bandit.Tell(rule, *rule == 'c');
  again.Read(bandit.ToText());
  EXPECT_EQ(again.ToText(), "a 1 0\nb 1 0\nc 2 2\n");
  EXPECT_EQ(again.Order(kRules), bandit.Order(kRules));
}

TEST(RuleBandit, LeavesOutWhatIsNoCount) {
  RuleBandit bandit;
  bandit.Read("a 0 0\nb 2 3\nc -1 0\nd\ne x y\n\nf 99999999999999999999 1\ng 4 1\n");
  EXPECT_EQ(bandit.ToText(), "g 4 1\n");
}

}  // namespace
}  // namespace fettle::tuner
