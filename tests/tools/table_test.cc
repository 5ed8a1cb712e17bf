// Tables, and the lines around them, on narrow terminals.
#include "report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "report/terminal.h"

namespace fettle::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(StepLabels, LeaveOutWhatExportersRepeat) {
  EXPECT_EQ(StepLabel("/features/features.3/conv/conv.0/conv.0.0/Conv"),
            "features.3/conv.0.0/Conv");
  EXPECT_EQ(StepLabel("/f/f.0/f.0.0/Conv+/f/f.0/f.0.2/Clip+Add_7"), "f.0.0/Conv");
  EXPECT_EQ(StepLabel("/layer1/layer1.0/conv1/Conv"), "layer1.0/conv1/Conv");
  EXPECT_EQ(StepLabel("block/block2/Conv2D"), "block/block2/Conv2D");
  EXPECT_EQ(StepLabel("Conv_12"), "Conv_12");
  EXPECT_EQ(StepLabel(""), "");
  EXPECT_EQ(StepLabel("//+/"), "");
}

/// Sets COLUMNS while it lives.
class Columns {
 public:
  explicit Columns(const char* columns) { setenv("COLUMNS", columns, 1); }
  ~Columns() { unsetenv("COLUMNS"); }
};

size_t Widest(const std::string& text) {
  size_t widest = 0, at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    widest = std::max(widest, TextWidth(text.substr(at, end - at)));
    at = end + 1;
  }
  return widest;
}

TEST(Terminal, ShortenKeepsBothEnds) {
  EXPECT_EQ(Shorten("convolution", 11), "convolution");
  EXPECT_EQ(Shorten("convolution", 7), "conv…on");
  EXPECT_EQ(Shorten("convolution", 1), "…");
  EXPECT_EQ(Shorten("äöüäöü", 3), "ä…ü");
}

TEST(Terminal, WrapBreaksAtBlanksAndLongWords) {
  EXPECT_EQ(Wrap("one two three", 8), "one two\nthree");
  EXPECT_EQ(Wrap("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(Wrap("abcdefghij", 4), "abcd\nefgh\nij");
  EXPECT_EQ(Wrap("  a\nb\n", 8), "  a\nb\n");
  EXPECT_EQ(Wrap("", 8), "");
}

TEST(Terminal, CountsInWords) {
  EXPECT_EQ(Count(0, "row"), "0 rows");
  EXPECT_EQ(Count(1, "row"), "1 row");
  EXPECT_EQ(Count(2, "row"), "2 rows");
}

TEST(TableTest, NamesLoseTheirMiddleAndNumbersStay) {
  const Columns columns("50");
  Table table({{"node"}, {"kernel"}, {"us", Table::Align::kRight}});
  table.Row({std::string(100, 'n'), "cpu.conv", "12345.6"});
  const std::string text = table.ToString();
  EXPECT_EQ(Widest(text), 50u) << text;
  EXPECT_THAT(text, HasSubstr("nnn…nnn"));
  EXPECT_THAT(text, HasSubstr("cpu.conv"));
  EXPECT_THAT(text, HasSubstr("12345.6"));
}

TEST(TableTest, DifferentNamesStayDifferent) {
  const Columns columns("40");
  // They differ in their middle alone, where the usual cut lies.
  Table table({{"node"}, {"us", Table::Align::kRight}});
  for (char c : {'0', '1', '2'})
    table.Row({"classifier/blocks/attention." + std::string(1, c) + "/linear/MatMul", "1.0"});
  const std::string text = table.ToString();
  EXPECT_LE(Widest(text), 40u) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  for (const char* name : {".0/", ".1/", ".2/"}) EXPECT_THAT(text, HasSubstr(name));
}

TEST(TableTest, NamesThatNoCutKeepsApartAreWhole) {
  const Columns columns("40");
  Table table({{.title = "node", .least = 10}, {"us", Table::Align::kRight}});
  for (const char* name : {"a", "b"})
    for (const char* end : {"x", "y"})
      for (const char* middle : {"0", "1"})
        table.Row({name + std::string(30, '-') + middle + std::string(30, '-') + end, "1.0"});
  const std::string text = table.ToString();
  EXPECT_LE(Widest(text), 40u) << text;
  EXPECT_THAT(text, Not(HasSubstr("…")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '-'), 8 * 60) << text;
}

TEST(TableTest, ColumnsAreLeftOutLowestFirstAndSaidSo) {
  const Columns columns("44");
  Table table({{"node"},
               {.title = "from", .leaves = 2},
               {.title = "to", .leaves = 1},
               {.title = "us", .align = Table::Align::kRight}});
  table.Row({std::string(30, 'n'), std::string(30, 'f'), std::string(30, 't'), "1.0"});
  const std::string text = table.ToString();
  EXPECT_LE(Widest(text), 44u) << text;
  EXPECT_THAT(text, Not(HasSubstr("  to")));
  EXPECT_THAT(text, HasSubstr("from"));
  EXPECT_THAT(text, HasSubstr("left out for lack of space: to"));
}

TEST(TableTest, CellsThatWrapStayWhole) {
  const Columns columns("40");
  Table table({{"fact"}, {.title = "value", .narrow = Table::Narrow::kWrap}});
  table.Row({"fingerprint", std::string(70, 'x')});
  const std::string text = table.ToString();
  EXPECT_LE(Widest(text), 40u) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), 70);
}

TEST(TableTest, WhatFitsIsAsWideAsItsCells) {
  const Columns columns("200");
  Table table({{"a"}, {"b", Table::Align::kRight}});
  table.Row({"long name", "1"});
  EXPECT_EQ(table.ToString(), "a          b\nlong name  1\n");
}

}  // namespace
}  // namespace fettle::tools
