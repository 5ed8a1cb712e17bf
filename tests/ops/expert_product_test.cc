// ExpertMatMul: sums worked out by hand, and operands that do not fit.
#include <gmock/gmock.h>

#include "ir/text.h"
#include "ops/infer.h"
#include "tests/ops/evaluate_text.h"

namespace fettle::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Three experts of one column: 1, 10 and 100 times the first element, and the second.
constexpr std::string_view kWeights = "const %w: f32[3x1x2] = 1 1 10 1 100 1\n";

std::vector<float> Results(const std::string& text) {
  const std::vector<Tensor> y = EvaluateText(text);
  return y.empty() ? std::vector<float>()
                   : std::vector<float>(y[0].as<float>().begin(), y[0].as<float>().end());
}

TEST(ExpertMatMul, RowsMeetTheExpertsThatTheyChoose) {
  EXPECT_THAT(Results(fmt::format("const %a: f32[2x2] = 1 2 3 4\nconst %c: i64[2x2] = 0 2 1 1\n{}"
                                  "%y = ExpertMatMul(%a, %w, %c)\noutput %y\n",
                                  kWeights)),
              ElementsAre(3, 102, 34, 34));
}

TEST(ExpertMatMul, ResultsAreAddedAsTheyCount) {
  EXPECT_THAT(Results(fmt::format("const %a: f32[1x2x2] = 1 2 3 4\nconst %c: i32[1x2] = 2 1\n"
                                  "const %by: f32[1x2] = 0.5 2\n{}"
                                  "%y = ExpertMatMul(%a, %w, %c, _, _, %by)\noutput %y\n",
                                  kWeights)),
              ElementsAre(51 + 68));
}

std::string Refusal(const std::string& text) {
  Result<ir::Graph> graph = Parse(text);
  if (!graph.ok()) return std::string(graph.status().message());
  const Status status = InferGraph(*graph);
  if (!status.ok()) return std::string(status.message());
  const auto y = EvaluateGraph(*graph, {});
  return y.ok() ? "" : std::string(y.status().message());
}

std::string Product(std::string_view a, std::string_view c, std::string_view w,
                    std::string_view more = "") {
  return fmt::format(
      "const %a: {} = splat 1\nconst %c: {} = splat 1\nconst %w: {} = splat 1\n"
      "{}output %y\n",
      a, c, w, more.empty() ? "%y = ExpertMatMul(%a, %w, %c)\n" : more);
}

TEST(ExpertMatMul, OperandsThatDoNotFitAreRefused) {
  EXPECT_EQ(Refusal(Product("f32[2x8]", "i64[2x1]", "f32[3x1x8]")), "");
  EXPECT_THAT(Refusal(Product("f32[2x8]", "i64[3x1]", "f32[3x1x8]")), HasSubstr("do not fit"));
  EXPECT_THAT(Refusal(Product("f32[2x7]", "i64[2x1]", "f32[3x1x8]")), HasSubstr("do not fit"));
  EXPECT_THAT(Refusal(Product("f32[2x8]", "i64[2x1x1]", "f32[3x1x8]")), HasSubstr("do not fit"));
  EXPECT_THAT(Refusal(Product("f32[2x8]", "i64[2x1]", "f32[3x8]")), HasSubstr("[experts, n, k]"));
  EXPECT_THAT(Refusal(Product("f32[2x8]", "i64[2x1]", "f32[1x1x8]")),
              HasSubstr("expert 1 of 1 is chosen"));
  EXPECT_THAT(Refusal(Product("f32[2x8]", "i64[2x1]", "f32[3x1x8]",
                              "const %by: f32[1x1] = 1\n"
                              "%y = ExpertMatMul(%a, %w, %c, _, _, %by)\n")),
              HasSubstr("differ"));
  const std::string_view blocks =
      "const %s: f32[3x1x1] = splat 1\n%y = ExpertMatMul(%a, %w, %c, %s, %s) {block_size=32}\n";
  EXPECT_EQ(Refusal(Product("f32[2x32]", "i64[2x1]", "u8[3x1x32]", blocks)), "");
  EXPECT_THAT(Refusal(Product("f32[2x64]", "i64[2x1]", "u8[3x1x64]", blocks)), HasSubstr("scales"));
  EXPECT_THAT(Refusal(Product("f32[2x33]", "i64[2x1]", "u8[3x1x33]", blocks)),
              HasSubstr("whole blocks"));
  EXPECT_THAT(Refusal(Product("f32[2x32]", "i64[2x1]", "u8[3x1x32]",
                              "const %s: f32[3x1x1] = splat 1\n"
                              "%y = ExpertMatMul(%a, %w, %c, %s)\n")),
              HasSubstr("scales and minima"));
}

}  // namespace
}  // namespace fettle::ops
