// What `fettle gemm` says below its table.
#include "report/product_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fettle::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ProductRow Timed(const char* name, bool verified) {
  ProductRow row;
  row.name = name;
  row.ms = 1;
  row.verified = verified;
  return row;
}

ProductRow Refused(const char* name, const char* reason) {
  ProductRow row;
  row.name = name;
  row.refused = reason;
  return row;
}

TEST(ProductReport, ResultsAreVerifiedWhereAllThatWereTimedAre) {
  EXPECT_EQ(RemarksOn({Timed("a", true), Timed("b", true)}), "results: verified\n");
  EXPECT_EQ(RemarksOn({Timed("a", true), Refused("b", "no device")}),
            "b: no device\nresults: verified\n");
  EXPECT_EQ(RemarksOn({Refused("b", "no device")}), "b: no device\n");
}

TEST(ProductReport, OneWrongLineIsNamedInPlaceOfThat) {
  const auto names_b = AllOf(HasSubstr("WRONG results: b\n"), Not(HasSubstr("verified")));
  EXPECT_THAT(RemarksOn({Timed("a", true), Timed("b", false)}), names_b);
  // What tuning found wrong has no time.
  EXPECT_THAT(RemarksOn({Timed("a", true), Refused("b", "WRONG: element 3 is 1, expected 2")}),
              names_b);
}

TEST(RaisePeaksTest, NothingIsOverItsPeak) {
  const auto row = [](const char* peak, double share, bool verified) {
    ProductRow made;
    made.peak = peak;
    made.share_of_peak = share;
    made.verified = verified;
    return made;
  };
  std::vector<ProductRow> rows = {row("fp32 fma", 1.6, true), row("fp32 fma", 0.8, true),
                                  row("int8 dot", 0.9, true), row("fp32 fma", 9, false)};
  const std::vector<std::string> said = RaisePeaks(rows);
  EXPECT_DOUBLE_EQ(rows[0].share_of_peak, 1);
  EXPECT_DOUBLE_EQ(rows[1].share_of_peak, 0.5);
  EXPECT_DOUBLE_EQ(rows[2].share_of_peak, 0.9);
  EXPECT_LE(rows[3].share_of_peak, 1) << "a wrong product raises nothing";
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("1.60 times"), std::string::npos) << said[0];
}

}  // namespace
}  // namespace fettle::tools
