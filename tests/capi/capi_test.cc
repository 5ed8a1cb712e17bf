// The C and C++ interfaces, through libfettle.so alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "fettle/fettle.hpp"
#include "tests/test_folder.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// The demonstration model: picture f32[1,3,height,width] -> enhanced, twice the size.
fettle::Model DemoModel() { return fettle::Model::Load(FETTLE_DEMO_MODEL).value(); }

fettle::Tensor Picture(int64_t height, int64_t width, float value) {
  fettle::Tensor tensor = fettle::Tensor::Create(FETTLE_F32, {1, 3, height, width}).value();
  for (float& element : tensor.as<float>()) element = value;
  return tensor;
}

TEST(CApi, DescribesModels) {
  const fettle::Model model = DemoModel();
  ASSERT_THAT(model.inputs(), SizeIs(1));
  EXPECT_EQ(model.inputs()[0].name, "picture");
  EXPECT_EQ(model.inputs()[0].dtype, FETTLE_F32);
  EXPECT_THAT(model.inputs()[0].dims, ElementsAre(1, 3, -1, -1));
  ASSERT_THAT(model.outputs(), SizeIs(1));
  EXPECT_EQ(model.outputs()[0].name, "enhanced");
  fettle_value_info info = FETTLE_VALUE_INFO_INIT;
  EXPECT_EQ(fettle_model_input(model.get(), 1, &info), FETTLE_NOT_FOUND);
  ASSERT_EQ(fettle_model_input(model.get(), 0, &info), FETTLE_OK);
  EXPECT_EQ(info.symbols[0], nullptr);
  EXPECT_STREQ(info.symbols[2], "height");
  EXPECT_STREQ(info.symbols[3], "width");
}

TEST(CApi, RefusesUnknownWaysWithSubnormals) {
  const fettle::Model model = DemoModel();
  EXPECT_TRUE(fettle::Session::Create(model, {.threads = 1, .subnormals = "keep"}).ok());
  const auto refused = fettle::Session::Create(model, {.threads = 1, .subnormals = "zero"});
  EXPECT_EQ(refused.code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(refused.message(), HasSubstr("subnormals: expected flush|keep"));
}

TEST(CApi, RefusesWhatPassesItsMemory) {
  const fettle::Model model = DemoModel();
  fettle::Session session =
      fettle::Session::Create(model, {.threads = 1, .max_memory = 1 << 20}).value();
  for (int64_t size : {8, 512, 8}) {
    session.SetInput("picture", Picture(size, size, 0.25f)).value();
    const auto run = session.Run();
    EXPECT_EQ(run.ok(), size == 8);
    if (run.ok()) continue;
    EXPECT_EQ(run.code(), FETTLE_OUT_OF_MEMORY);
    EXPECT_THAT(run.message(), HasSubstr("the limit is 1048576"));
  }
  EXPECT_EQ(fettle::Session::Create(model, {.max_memory = -1}).code(), FETTLE_INVALID_ARGUMENT);
}

TEST(CApi, RunsAtSeveralShapes) {
  const fettle::Model model = DemoModel();
  fettle::Session session = fettle::Session::Create(model, {.threads = 2}).value();
  for (int64_t size : {5, 9, 5}) {
    session.SetInput("picture", Picture(size, size + 1, 0.25f)).value();
    ASSERT_TRUE(session.Run().ok());
    const fettle::Tensor output = session.Output("enhanced").value();
    EXPECT_THAT(output.dims(), ElementsAre(1, 3, 2 * size, 2 * size + 2));
    for (float element : output.as<float>()) ASSERT_NEAR(element, 0.25f, 1e-5f);
  }
  EXPECT_FALSE(session.profile().empty());
  EXPECT_GT(session.memory().weights, 0);
}

TEST(CApi, TunesASessionAndWritesAPackage) {
  const fettle::Model model = DemoModel();
  fettle::Session session = fettle::Session::Create(model, {.threads = 2}).value();
  session.SetInput("picture", Picture(16, 24, 0.25f)).value();
  const fettle::TestFolder folder;
  const std::string package = folder.file("tuned.fettle");
  const fettle_tune_report report =
      session.Tune({.level = "fast", .package = package.c_str()}).value();
  EXPECT_GT(report.measured, 0);
  EXPECT_GT(report.default_ms, 0);
  EXPECT_FALSE(session.profile().empty());
  ASSERT_TRUE(session.Run().ok());
  const fettle::Tensor output = session.Output("enhanced").value();
  for (float element : output.as<float>()) ASSERT_NEAR(element, 0.25f, 1e-5f);
  const fettle::Model packed = fettle::Model::Load(package).value();
  fettle::Session again = fettle::Session::Create(packed, {.threads = 2}).value();
  again.SetInput("picture", Picture(16, 24, 0.25f)).value();
  ASSERT_TRUE(again.Run().ok());
  EXPECT_FALSE(session.Tune({.level = "most"}).ok());
  const std::string larger = folder.file("packed.fettle");
  ASSERT_TRUE(
      session.Tune({.level = "fast", .package = larger.c_str(), .packed_weights = true}).ok());
  EXPECT_GT(std::filesystem::file_size(larger), std::filesystem::file_size(package));
}

TEST(CApi, TellsHowATuningGoesOnUntilItIsToldToEnd) {
  fettle::Session session = fettle::Session::Create(DemoModel(), {.threads = 1}).value();
  session.SetInput("picture", Picture(16, 24, 0.25f)).value();
  int calls = 0;
  const auto progress = [](const fettle_tune_progress* now, void* user) {
    EXPECT_GE(now->measured, 0);
    EXPECT_GT(now->predicted_ms, 0);
    return ++*static_cast<int*>(user) == 2 ? 1 : 0;
  };
  EXPECT_EQ(session.Tune({.level = "fast", .progress = progress, .user = &calls}).code(),
            FETTLE_CANCELLED);
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(session.Run().ok());
}

TEST(CApi, RefusesUnknownDevicesAndPrecisions) {
  const fettle::Model model = DemoModel();
  const auto code_of = [&](const fettle::SessionOptions& options) {
    return fettle::Session::Create(model, options).code();
  };
  EXPECT_EQ(code_of({.device = "cuda"}), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(fettle_last_error(), HasSubstr("expected auto|cpu|opencl"));
  EXPECT_EQ(code_of({.precision = "half"}), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of({.memory = "texture"}), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of({.queue_window = -1}), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of({.device = "opencl:no such platform"}), FETTLE_DEVICE_UNAVAILABLE);
}

TEST(CApi, AnOpenClDeviceGivesTheAnswerOfTheCpu) {
  const fettle::Model model = DemoModel();
  auto created = fettle::Session::Create(model, {.threads = 2, .device = "opencl"});
  if (!created.ok()) GTEST_SKIP() << fettle_last_error();
  fettle::Session session = std::move(created).value();
  const fettle::Tensor picture = Picture(7, 9, 0.75f);
  session.SetInput("picture", picture).value();
  ASSERT_TRUE(session.Run().ok()) << fettle_last_error();
  const fettle::Tensor output = session.Output("enhanced").value();
  for (float element : output.as<float>()) ASSERT_NEAR(element, 0.75f, 1e-5f);
}

TEST(CApi, OutputsOutliveLaterRuns) {
  const fettle::Model model = DemoModel();
  fettle::Session session = fettle::Session::Create(model).value();
  session.SetInput("picture", Picture(4, 4, 0.5f)).value();
  session.Run().value();
  const fettle::Tensor first = session.Output("enhanced").value();
  session.SetInput("picture", Picture(4, 4, 0.75f)).value();
  session.Run().value();
  EXPECT_NEAR(first.as<float>()[0], 0.5f, 1e-5f);
  EXPECT_NEAR(session.Output("enhanced").value().as<float>()[0], 0.75f, 1e-5f);
}

TEST(CApi, ReturnsIntermediateValues) {
  const fettle::Model model = DemoModel();
  fettle::Session session = fettle::Session::Create(model, {.extra_outputs = {"doubled"}}).value();
  session.SetInput("picture", Picture(4, 4, 0.5f)).value();
  session.Run().value();
  EXPECT_THAT(session.Output("doubled").value().dims(), ElementsAre(1, 3, 8, 8));
  const auto missing = fettle::Session::Create(model, {.extra_outputs = {"nothing"}});
  EXPECT_EQ(missing.code(), FETTLE_NOT_FOUND);
}

TEST(CApi, ReadsWrappedMemory) {
  std::vector<float> pixels(3 * 4 * 4, 0.5f);
  const fettle::Tensor input = fettle::Tensor::Wrap(std::span(pixels), {1, 3, 4, 4}).value();
  fettle::Session session = fettle::Session::Create(DemoModel()).value();
  session.SetInput("picture", input).value();
  session.Run().value();
  EXPECT_NEAR(session.Output("enhanced").value().as<float>()[7], 0.5f, 1e-5f);
  EXPECT_FALSE(fettle::Tensor::Wrap(std::span(pixels), {1, 3, 4, 5}).ok());
}

TEST(CApi, LoadsFromMemory) {
  std::ifstream file(FETTLE_DEMO_MODEL, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_TRUE(fettle::Model::LoadBytes(bytes, "demo").ok());
  const auto cut = fettle::Model::LoadBytes(bytes.first(bytes.size() / 2), "demo");
  EXPECT_EQ(cut.code(), FETTLE_INVALID_MODEL);
  EXPECT_THAT(cut.message(), HasSubstr("demo"));
}

TEST(CApi, ExplainsFailures) {
  const auto missing = fettle::Model::Load("/no/such/model.onnx");
  EXPECT_EQ(missing.code(), FETTLE_NOT_FOUND);
  EXPECT_THAT(fettle_last_error(), HasSubstr("/no/such/model.onnx"));
  EXPECT_THROW(fettle::Model::Load("/no/such/model.onnx").value(), fettle::Error);
  fettle::Session session = fettle::Session::Create(DemoModel()).value();
  EXPECT_EQ(session.SetInput("other", Picture(4, 4, 0)).code(), FETTLE_NOT_FOUND);
  EXPECT_EQ(session.Run().code(), FETTLE_INVALID_ARGUMENT);
  session.SetInput("picture", fettle::Tensor::Create(FETTLE_F32, {1, 2, 4, 4}).value()).value();
  EXPECT_EQ(session.Run().code(), FETTLE_INVALID_ARGUMENT);
  session.SetInput("picture", fettle::Tensor::Create(FETTLE_F16, {1, 3, 4, 4}).value()).value();
  EXPECT_EQ(session.Run().code(), FETTLE_INVALID_ARGUMENT);
}

TEST(CApi, KeepsMessagesPerThread) {
  EXPECT_FALSE(fettle::Model::Load("/no/such/model.onnx").ok());
  std::thread([] { EXPECT_STREQ(fettle_last_error(), ""); }).join();
  EXPECT_THAT(fettle_last_error(), HasSubstr("/no/such"));
}

TEST(CApi, RefusesNullAndNonsense) {
  fettle_tensor* tensor = nullptr;
  const int64_t dims[] = {2, -1};
  EXPECT_EQ(fettle_model_load(nullptr, nullptr), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_session_run(nullptr), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_tensor_create(FETTLE_F32, 2, dims, &tensor), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_tensor_create(FETTLE_F32, 99, dims, &tensor), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_tensor_create(static_cast<fettle_dtype>(31), 0, nullptr, &tensor),
            FETTLE_INVALID_ARGUMENT);
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(fettle_tensor_create(FETTLE_F32, 2, huge, &tensor), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(tensor, nullptr);
  fettle_tensor_free(nullptr);
  fettle_session_free(nullptr);
  fettle_model_free(nullptr);
}

TEST(CApi, NamesCodesAndTypes) {
  EXPECT_STREQ(fettle_status_name(FETTLE_CANCELLED), "cancelled");
  EXPECT_STREQ(fettle_status_name(static_cast<fettle_status>(15)), "unknown");
  EXPECT_STREQ(fettle_dtype_name(FETTLE_BF16), "bf16");
  EXPECT_EQ(fettle_dtype_size(FETTLE_I64), 8u);
  EXPECT_EQ(fettle_dtype_size(FETTLE_UNDEFINED), 0u);
}

struct GemmCase {
  bool transpose_a, transpose_b;
  float alpha, beta;
};

class CApiGemm : public ::testing::TestWithParam<GemmCase> {};

TEST_P(CApiGemm, MatchesTheDefinition) {
  const GemmCase& param = GetParam();
  constexpr int64_t kM = 13, kN = 17, kK = 29, kSlack = 3;
  const int64_t lda = (param.transpose_a ? kM : kK) + kSlack;
  const int64_t ldb = (param.transpose_b ? kK : kN) + kSlack, ldc = kN + kSlack;
  std::vector<float> a(static_cast<size_t>(kM * kK + kSlack * kM * kK));
  std::vector<float> b(static_cast<size_t>(kN * kK + kSlack * kN * kK));
  std::vector<float> c(static_cast<size_t>(kM * ldc), param.beta == 0 ? NAN : 2.0f);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 11) - 5;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 3;
  ASSERT_EQ(fettle_sgemm(param.transpose_a, param.transpose_b, kM, kN, kK, param.alpha, a.data(),
                         lda, b.data(), ldb, param.beta, c.data(), ldc, 2),
            FETTLE_OK);
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < kK; ++p) {
        const int64_t at_a = param.transpose_a ? p * lda + i : i * lda + p;
        const int64_t at_b = param.transpose_b ? j * ldb + p : p * ldb + j;
        sum += static_cast<double>(a[static_cast<size_t>(at_a)]) * b[static_cast<size_t>(at_b)];
      }
      const double want = param.alpha * sum + (param.beta == 0 ? 0 : param.beta * 2.0);
      ASSERT_NEAR(c[static_cast<size_t>(i * ldc + j)], want, 1e-2) << i << ", " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CApiGemm,
                         ::testing::Values(GemmCase{false, false, 1, 0},
                                           GemmCase{true, false, 2, 0},
                                           GemmCase{false, true, -1, 1},
                                           GemmCase{true, true, 0.5f, -2},
                                           GemmCase{false, false, 0, 3}));

TEST(CApiGemm, RefusesBadSizes) {
  float x[4] = {};
  EXPECT_EQ(fettle_sgemm(0, 0, -1, 1, 1, 1, x, 1, x, 1, 0, x, 1, 1), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_sgemm(0, 0, 2, 2, 2, 1, x, 1, x, 2, 0, x, 2, 1), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_sgemm(0, 0, 2, 2, 2, 1, nullptr, 2, x, 2, 0, x, 2, 1), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_sgemm(0, 0, 0, 0, 0, 1, x, 1, x, 1, 0, x, 1, 1), FETTLE_OK);
}

}  // namespace
