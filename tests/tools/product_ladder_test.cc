// Which kernels `fettle gemm` lists, by type and precision, on a device with matrix instructions.
#include "jobs/product_ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/opencl_device.h"

namespace fettle::tools {
namespace {

using planner::Precision;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::Not;

class ProductLadderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto& plain = TestOpenClDevice();
    if (!plain.ok()) GTEST_SKIP() << plain.status().message();
    // Never closed: at exit drivers may go first.
    static const auto& emulating = *new std::shared_ptr<OpenClDevice>(
        OpenClDevice::Open((*plain)->facts().platform, {.emulate_mma = true}).value());
    device_ = emulating.get();
  }

  std::vector<ProductLine> Lines(DType dtype, Precision precision, bool ladder = false) const {
    const runtime::ProductProblem problem{
        .m = 64, .n = 64, .k = 64, .a = dtype, .b = dtype, .c = dtype};
    return ListProductLines(problem, nullptr, {cpu_, device_},
                            {.precision = precision, .ladder = ladder})
        .value();
  }

 private:
  CpuDevice cpu_{std::make_shared<ThreadPool>(1)};
  const Device* device_ = nullptr;
};

auto IsMadeBy(std::string_view kernel) { return Field(&ProductLine::kernel, kernel); }

TEST_F(ProductLadderTest, F32IsMultipliedAsTf32BelowHighPrecision) {
  EXPECT_THAT(Lines(DType::kF32, Precision::kNormal), Each(IsMadeBy("opencl.matmul.mma.tf32")));
  EXPECT_THAT(Lines(DType::kF32, Precision::kHigh), Each(IsMadeBy("opencl.matmul.mma.f32")));
}

TEST_F(ProductLadderTest, OperandsStayWhatTheyAre) {
  for (const ProductLine& line : Lines(DType::kF32, Precision::kNormal, true)) {
    if (!line.candidate) continue;
    for (const State& state : line.candidate->problem.states.inputs)
      EXPECT_EQ(state.storage, DType::kF32) << line.name;
  }
  EXPECT_THAT(Lines(DType::kBF16, Precision::kNormal), Each(IsMadeBy("opencl.matmul.mma.bf16")));
  EXPECT_THAT(Lines(DType::kF16, Precision::kNormal), Each(IsMadeBy("opencl.matmul.mma")));
}

TEST_F(ProductLadderTest, TheLadderSaysWhyTf32IsNoStepAtHighPrecision) {
  const auto refuses = testing::HasSubstr("--precision high allows f32 alone");
  EXPECT_THAT(
      Lines(DType::kF32, Precision::kHigh, true),
      Contains(AllOf(IsMadeBy("opencl.matmul.mma.tf32"), Field(&ProductLine::refused, refuses))));
  EXPECT_THAT(Lines(DType::kF32, Precision::kNormal, true),
              Not(Contains(AllOf(IsMadeBy("opencl.matmul.mma.tf32"),
                                 Field(&ProductLine::refused, refuses)))));
}

}  // namespace
}  // namespace fettle::tools
