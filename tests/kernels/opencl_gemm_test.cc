// The ladder of matrix products on every OpenCL device: each rung, storage type and kind of size
// against sums in double.
#include <gtest/gtest.h>

#include <random>

#include "kernels/opencl/gemm/matrices.h"
#include "kernels/opencl/gemm/tiles.h"

namespace fettle::kernels {
namespace {

/// PoCL where it is installed, else the first device; null where there is none.
std::shared_ptr<OpenClDevice> TestDevice() {
  static const auto device = [] {
    auto pocl = OpenClDevice::Open("Portable");
    if (!pocl.ok()) pocl = OpenClDevice::Open();
    return pocl.ok() ? *pocl : nullptr;
  }();
  return device;
}

Tensor RandomTensor(DType dtype, const Shape& shape, uint64_t seed) {
  Tensor tensor = Tensor::Create(dtype, shape).value();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.view().SetDouble(i, uniform(random));
  return tensor;
}

class GemmLadder : public testing::Test {
 protected:
  void SetUp() override {
    device_ = TestDevice();
    if (device_ == nullptr) GTEST_SKIP() << "no OpenCL device";
    stream_ = OpenClStream::Create(device_).value();
  }

  GemmMatrices Matrices(const GemmShape& shape) {
    return {shape, RandomTensor(shape.storage, {shape.batch, shape.m, shape.k}, 1),
            RandomTensor(shape.storage, {shape.batch, shape.k, shape.n}, 2), *device_, *stream_};
  }

  /// What the rung makes of the matrices.
  Result<Difference> Run(const GemmRung& rung, GemmMatrices& matrices, const Params& params) {
    ASSIGN_OR_RETURN(const auto launcher,
                     GemmLauncher::Create(rung, matrices.shape(), params, *device_));
    ASSIGN_OR_RETURN(const Location a, matrices.A(rung.forms.a));
    ASSIGN_OR_RETURN(const Location b, matrices.B(rung.forms.b));
    ASSIGN_OR_RETURN(const Location c, matrices.FreshC(rung.forms.c));
    ASSIGN_OR_RETURN(const Location workspace, matrices.Workspace(launcher->workspace_bytes()));
    RETURN_IF_ERROR(launcher->Launch(*stream_, a, b, c, workspace));
    ASSIGN_OR_RETURN(const Tensor result, matrices.ReadC(rung.forms.c));
    return matrices.Verify(result);
  }

  void ExpectRight(const GemmRung& rung, const GemmShape& shape, const Params& params) {
    SCOPED_TRACE(fmt::format("{} {}x{}x{} of {} {}", rung.kernel, shape.m, shape.n, shape.k,
                             shape.batch, DTypeName(shape.storage)));
    GemmMatrices matrices = Matrices(shape);
    const auto difference = Run(rung, matrices, params);
    ASSERT_TRUE(difference.ok()) << difference.status().message();
    EXPECT_TRUE(difference->ok()) << difference->ToString({shape.batch, shape.m, shape.n});
  }

  std::shared_ptr<OpenClDevice> device_;
  std::unique_ptr<OpenClStream> stream_;
};

constexpr GemmShape kShapes[] = {
    {.m = 64, .n = 64, .k = 128},           // multiples of all tiles
    {.m = 37, .n = 53, .k = 131},           // of none
    {.m = 1, .n = 1, .k = 1},               // smaller than any
    {.m = 3, .n = 2, .k = 200},             // less than a vector
    {.m = 45, .n = 1, .k = 67},             // matrix times vector
    {.m = 1, .n = 45, .k = 67},             // vector times matrix
    {.m = 7, .n = 9, .k = 5, .batch = 11},  // many
};

TEST_F(GemmLadder, EveryRungMakesTheProduct) {
  for (const GemmRung& rung : GemmRungs()) {
    int ran = 0;
    for (GemmShape shape : kShapes) {
      for (const DType storage : {DType::kF32, DType::kF16}) {
        shape.storage = storage;
        if (!rung.applies(shape, device_->facts()).ok()) continue;
        const Params params = rung.defaults(shape, device_->facts());
        ASSERT_TRUE(rung.valid(shape, params, device_->facts()).ok()) << rung.kernel;
        ExpectRight(rung, shape, params);
        ++ran;
      }
    }
    if (rung.kernel == "opencl.gemm.sub_groups") continue;
    EXPECT_GT(ran, 0) << rung.kernel;
  }
}

TEST_F(GemmLadder, TilesOfAllKindsMakeTheProduct) {
  const GemmShape shape{.m = 45, .n = 70, .k = 83};
  const Params registers[] = {
      {{"TM", 3}, {"TN", 2}, {"VW", 4}, {"K_UNROLL", 4}, {"ROWS_FIRST", 0}, {"LX", 4}, {"LY", 2}},
      {{"TM", 12}, {"TN", 1}, {"VW", 8}, {"K_UNROLL", 2}, {"ROWS_FIRST", 1}, {"LX", 1}, {"LY", 1}},
      {{"TM", 1}, {"TN", 3}, {"VW", 1}, {"K_UNROLL", 1}, {"ROWS_FIRST", 0}, {"LX", 0}, {"LY", 0}}};
  for (const Params& params : registers) {
    ASSERT_TRUE(ValidRegisters(shape, params, device_->facts()).ok());
    ExpectRight(*FindGemmRung("opencl.gemm.registers"), shape, params);
  }
  const Params local[] = {
      {{"MWG", 32}, {"NWG", 64}, {"KWG", 8}, {"TM", 4}, {"TN", 8}, {"BUFFERS", 2}},
      {{"MWG", 64}, {"NWG", 32}, {"KWG", 32}, {"TM", 8}, {"TN", 4}, {"BUFFERS", 1}}};
  for (const Params& params : local) {
    ASSERT_TRUE(ValidLocal(shape, params, device_->facts()).ok());
    ExpectRight(*FindGemmRung("opencl.gemm.local"), shape, params);
  }
}

TEST_F(GemmLadder, SubGroupsAddUpRightWhereTheirBroadcastIsEmulated) {
  const GemmShape shape{.m = 19, .n = 71, .k = 45};
  ExpectRight(*FindGemmRung("opencl.gemm.sub_groups"), shape,
              {{"SUB_GROUP", 16}, {"TM", 4}, {"VW", 2}, {"EMULATED", 1}});
}

TEST_F(GemmLadder, RefusalsSayWhy) {
  OpenClFacts facts = device_->facts();
  const auto reason = [&](const char* kernel, const GemmShape& shape) {
    return FindGemmRung(kernel)->applies(shape, facts).message();
  };
  EXPECT_NE(reason("opencl.gemm.vector_rows", {.m = 8, .n = 8, .k = 8}).find("n is 8"),
            std::string::npos);
  EXPECT_NE(reason("opencl.gemm.naive", {.batch = 3}).find("one product at a time, not 3"),
            std::string::npos);
  EXPECT_NE(reason("opencl.gemm.batched", {.m = 4096, .n = 4096, .k = 4096}).find("not small"),
            std::string::npos);
  facts.image2d_max_width = 16;
  EXPECT_NE(reason("opencl.gemm.images", {.m = 8, .n = 8, .k = 80}).find("A as an image is 20x8"),
            std::string::npos);
  facts.images = false;
  EXPECT_NE(reason("opencl.gemm.images", {}).find("no images"), std::string::npos);
}

TEST_F(GemmLadder, AWrongResultIsSeen) {
  GemmMatrices matrices = Matrices({.m = 20, .n = 20, .k = 30});
  ASSERT_TRUE(matrices.FreshC(MatrixForm::kRows).ok());
  const auto untouched = matrices.ReadC(MatrixForm::kRows);
  ASSERT_TRUE(untouched.ok());
  EXPECT_EQ(matrices.Verify(*untouched).bad, 400);
}

}  // namespace
}  // namespace fettle::kernels
