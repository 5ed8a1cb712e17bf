#include "tuner/search/expression.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tuner/search/random.h"

namespace fettle::tuner {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kNames = {"A", "B", "mode"};

/// With A = 12, B = 5, mode = 'fast'.
bool Holds(const std::string& text, Value a = int64_t{12}, Value b = int64_t{5}) {
  const Value mode = std::string("fast");
  auto expression = Expression::Parse(text, kNames);
  EXPECT_TRUE(expression.ok()) << expression.status().message();
  const std::vector<const Value*> values = {&a, &b, &mode};
  return expression.ok() && expression->Holds(values);
}

std::string ParseFailure(const std::string& text) {
  auto expression = Expression::Parse(text, kNames);
  return expression.ok() ? "" : expression.status().message();
}

TEST(ExpressionTest, Arithmetic) {
  EXPECT_TRUE(Holds("A % B == 2"));
  EXPECT_TRUE(Holds("A // B == 2"));
  EXPECT_TRUE(Holds("A / B == 2.4"));
  EXPECT_TRUE(Holds("A / 4 == 3"));
  EXPECT_TRUE(Holds("2 + 3 * 4 - 1 == 13"));
  EXPECT_TRUE(Holds("-2 ** 2 == -4"));
  EXPECT_TRUE(Holds("2 ** 3 ** 2 == 512"));
  EXPECT_TRUE(Holds("2 ** -1 == 0.5"));
  EXPECT_TRUE(Holds("-7 // 2 == -4 and -7 % 2 == 1 and 7 % -2 == -1"));
  EXPECT_TRUE(Holds("min(A, B, 7) == 5 and max(A, B) == 12 and abs(B - A) == 7"));
  EXPECT_TRUE(Holds("(A) == ((12))"));
  EXPECT_TRUE(Holds("1e3 == 1000 and .5 == 0.5"));
}

TEST(ExpressionTest, Logic) {
  EXPECT_TRUE(Holds("A == 12 and B == 5"));
  EXPECT_TRUE(Holds("A == 1 || B == 5"));
  EXPECT_FALSE(Holds("A == 12 && B == 6"));
  EXPECT_TRUE(Holds("not A == 1"));
  EXPECT_TRUE(Holds("!(A == 1) and A != 1"));
  EXPECT_TRUE(Holds("1 <= B < A"));
  EXPECT_FALSE(Holds("1 <= A < B"));
  EXPECT_TRUE(Holds("A in [1, 12] and not (B in (1, 2))"));
  EXPECT_TRUE(Holds("True and not False"));
  EXPECT_TRUE(Holds("mode == 'fast' and mode != \"slow\""));
  EXPECT_FALSE(Holds("mode == 12"));
  EXPECT_TRUE(Holds("A"));
  EXPECT_FALSE(Holds("A - 12"));
}

TEST(ExpressionTest, WhatHasNoValueDoesNotHold) {
  EXPECT_FALSE(Holds("A % (B - 5) == 0"));
  EXPECT_FALSE(Holds("A / 0 > 1"));
  EXPECT_FALSE(Holds("not A / 0 > 1"));
  EXPECT_TRUE(Holds("B == 5 or A / 0 > 1"));
  EXPECT_FALSE(Holds("mode + 1 == 2"));
  EXPECT_FALSE(Holds("mode < 3"));
  EXPECT_FALSE(Holds("10 ** 10 ** 10 > 0"));
}

TEST(ExpressionTest, OverflowGoesOnInFloatingPoint) {
  const Value huge = int64_t{INT64_MAX}, least = int64_t{INT64_MIN};
  EXPECT_TRUE(Holds("A * A > A", huge));
  EXPECT_TRUE(Holds("A + 1 > 0", huge));
  EXPECT_TRUE(Holds("-A > 0", least));
  EXPECT_TRUE(Holds("A // -1 > 0 and A % -1 == 0 and A / -1 > 0", least));
  EXPECT_TRUE(Holds("abs(A) > 0", least));
}

TEST(ExpressionTest, ErrorsSayWhatWasExpectedWhere) {
  EXPECT_THAT(ParseFailure("A % * 2"), HasSubstr("column 5: expected a value, got '* 2'"));
  EXPECT_THAT(ParseFailure("A % (B"), HasSubstr("expected ), got the end"));
  EXPECT_THAT(ParseFailure("A = 2"), HasSubstr("column 3"));
  EXPECT_THAT(ParseFailure(""), HasSubstr("expected a value"));
  EXPECT_THAT(ParseFailure("C == 1"), HasSubstr("'C' is not a parameter; known: A, B, mode"));
  EXPECT_THAT(ParseFailure("mod == 1"), HasSubstr("'mod' is not a parameter; known: mode, A, B"));
  EXPECT_THAT(ParseFailure("__import__('os')"), HasSubstr("'__import__' is not a parameter"));
  EXPECT_THAT(ParseFailure("A.real"), HasSubstr("column 2"));
  EXPECT_THAT(ParseFailure("mode == 'fast"), HasSubstr("closing quote"));
  EXPECT_THAT(ParseFailure("12abc"), HasSubstr("an operator"));
  EXPECT_THAT(ParseFailure("A in B"), HasSubstr("[ or ("));
  EXPECT_THAT(ParseFailure("abs(A, B)"), HasSubstr("one argument"));
  EXPECT_THAT(ParseFailure("A; B"), HasSubstr("the end"));
}

TEST(ExpressionTest, HostileTextsCostNothing) {
  EXPECT_THAT(ParseFailure(std::string(3000, '(')), HasSubstr("less nesting"));
  EXPECT_THAT(ParseFailure(std::string(3000, '-')), HasSubstr("less nesting"));
  EXPECT_THAT(ParseFailure(std::string(3000, '!')), HasSubstr("less nesting"));
  std::string nots, powers = "2", sum = "1";
  for (int i = 0; i < 900; ++i) nots += "not ";
  for (int i = 0; i < 900; ++i) powers += "**2";
  for (int i = 0; i < 2000; ++i) sum += "+1";
  EXPECT_THAT(ParseFailure(nots + "1"), HasSubstr("less nesting"));
  EXPECT_THAT(ParseFailure(powers), HasSubstr("less nesting"));
  EXPECT_TRUE(Holds(sum + "==2001"));
  EXPECT_THAT(ParseFailure(std::string(5000, '1')), HasSubstr("at most 4096"));
  EXPECT_THAT(ParseFailure(std::string("A\0== 1", 6)), HasSubstr("column 2"));
  EXPECT_THAT(ParseFailure(std::string(500, '9')), HasSubstr("a number"));
}

TEST(ExpressionTest, RandomTextsEndInAValueOrAnError) {
  static constexpr const char* kTokens[] = {
      "A",     "B",     "mode",   "(",  ")",    "[",   "]",    ",", "+",  "-",
      "*",     "**",    "/",      "//", "%",    "==",  "!=",   "<", ">=", " and ",
      " or ",  " not ", "!",      "&&", " in ", "min", "abs(", "0", "1",  "9999999999",
      "1e300", ".",     "'fast'", "'",  "True", "#",   "=",    "\t"};
  const Value a = int64_t{-3}, b = 0.5, mode = std::string("fast");
  const std::vector<const Value*> values = {&a, &b, &mode};
  Random random(1);
  int parsed = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text;
    for (uint64_t i = random.Below(12); i-- > 0;) text += kTokens[random.Below(std::size(kTokens))];
    auto expression = Expression::Parse(text, kNames);
    if (!expression.ok()) continue;
    ++parsed;
    expression->Holds(values);
  }
  EXPECT_GT(parsed, 500);
}

TEST(ExpressionTest, IsWorthAWholeNumberOrNothing) {
  const Value a = int64_t{768}, b = int64_t{12}, mode = std::string("fast");
  const std::vector<const Value*> values = {&a, &b, &mode};
  const auto worth = [&](const char* text) {
    return Expression::Parse(text, kNames).value().WholeNumber(values);
  };
  EXPECT_EQ(worth("A // B * 2"), 128);
  EXPECT_EQ(worth("A / B"), 64);
  EXPECT_EQ(worth("A / 512"), std::nullopt);
  EXPECT_EQ(worth("A // (B - 12)"), std::nullopt);
  EXPECT_EQ(worth("mode"), std::nullopt);
  EXPECT_EQ(worth("2 ** 200"), std::nullopt);
}

}  // namespace
}  // namespace fettle::tuner
