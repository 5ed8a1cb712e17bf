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

}  // namespace
}  // namespace fettle::tools
