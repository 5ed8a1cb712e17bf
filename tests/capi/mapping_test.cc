// Tensors in a device's memory and their maps, through libfettle.so alone: on PoCL (or what
// FETTLE_DEVICE names) and on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "fettle/fettle.hpp"

namespace {

using ::testing::Each;
using ::testing::FloatNear;
using ::testing::HasSubstr;

constexpr int64_t kHeight = 5, kWidth = 9;
constexpr size_t kPixels = kHeight * kWidth;

std::string OpenClName() {
  const char* name = std::getenv("FETTLE_DEVICE");
  return name == nullptr ? "opencl" : name;
}

/// A session on the demonstration model, picture f32[1,3,h,w] -> enhanced, twice the size.
class Mapping : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { Open({.threads = 2}); }
  void Open(fettle::SessionOptions options) {
    options.device = std::string_view(GetParam()) == "cpu" ? "cpu" : OpenClName();
    auto created = fettle::Session::Create(model_, options);
    if (created.code() == FETTLE_DEVICE_UNAVAILABLE) GTEST_SKIP() << created.message();
    session_.emplace(std::move(created).value());
  }
  bool on_cpu() const { return std::string_view(GetParam()) == "cpu"; }
  fettle::Tensor NewPicture(const fettle::TensorOptions& options = {}) {
    return session_->CreateTensor(FETTLE_F32, {1, 3, kHeight, kWidth}, options).value();
  }
  fettle::Tensor NewResult(const fettle::TensorOptions& options = {}) {
    return session_->CreateTensor(FETTLE_F32, {1, 3, 2 * kHeight, 2 * kWidth}, options).value();
  }
  static void Fill(const fettle::Tensor& tensor, float value) {
    fettle::Mapping mapping = tensor.Map(FETTLE_MAP_WRITE).value();
    for (float& element : mapping.as<float>()) element = value;
    mapping.Unmap().value();
  }
  static std::vector<float> Read(const fettle::Tensor& tensor) {
    const fettle::Mapping mapping = tensor.Map(FETTLE_MAP_READ).value();
    const auto elements = mapping.as<float>();
    return {elements.begin(), elements.end()};
  }
  fettle::Model model_ = fettle::Model::Load(FETTLE_DEMO_MODEL).value();
  std::optional<fettle::Session> session_;
};

TEST_P(Mapping, RunsReadAndWriteBoundTensorsInPlace) {
  const fettle::Tensor picture = NewPicture(), result = NewResult();
  session_->SetInput("picture", picture).value();
  session_->SetOutput("enhanced", result).value();
  for (const float value : {0.25f, 0.75f}) {
    Fill(picture, value);
    const auto ran = session_->Run();
    ASSERT_TRUE(ran.ok()) << ran.message();
    EXPECT_THAT(Read(result), Each(FloatNear(value, 1e-5f)));
  }
  const fettle_transfers transfers = session_->transfers();
  EXPECT_EQ(transfers.copies, 0);
  EXPECT_EQ(transfers.maps, 0);
  EXPECT_EQ(transfers.conversions, 0);
  if (!on_cpu()) {
    EXPECT_EQ(picture.transfers().maps, 2);
  }
  // The output is that tensor.
  const fettle::Tensor same = session_->Output("enhanced").value();
  EXPECT_TRUE(result.Map(FETTLE_MAP_READ).ok());
  const auto held = result.Map(FETTLE_MAP_READ).value();
  EXPECT_EQ(same.Map(FETTLE_MAP_READ).code(), FETTLE_BUSY);
}

TEST_P(Mapping, EveryFormGivesTheSameAnswer) {
  if (on_cpu()) GTEST_SKIP() << "host tensors are row-major";
  std::vector<fettle::TensorOptions> forms = {
      {}, {.layout = "NHWC"}, {.layout = "NCHW4c"}, {.layout = "NCHW4c", .storage = FETTLE_F16}};
  if (session_->CreateTensor(FETTLE_F32, {1, 4, 2, 2}, {.memory = "image"}).ok())
    forms.push_back({.memory = "image"});
  for (const fettle::TensorOptions& in : forms) {
    for (const fettle::TensorOptions& out : forms) {
      const fettle::Tensor picture = NewPicture(in), result = NewResult(out);
      Fill(picture, 0.5f);
      session_->SetInput("picture", picture).value();
      session_->SetOutput("enhanced", result).value();
      const auto ran = session_->Run();
      ASSERT_TRUE(ran.ok()) << ran.message();
      EXPECT_THAT(Read(result), Each(FloatNear(0.5f, 1e-3f)));
    }
  }
  EXPECT_EQ(session_->transfers().copies, 0);
  EXPECT_EQ(session_->transfers().maps, 0);
}

TEST_P(Mapping, ConvertsLayoutAndTypeOnTheWay) {
  const fettle::Tensor picture = NewPicture();
  {
    fettle::Mapping mapping =
        picture.Map(FETTLE_MAP_WRITE, {.layout = "NHWC", .dtype = FETTLE_U8}).value();
    EXPECT_FALSE(mapping.get().direct);
    const auto bytes = mapping.as<uint8_t>();
    ASSERT_EQ(bytes.size(), 3 * kPixels);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  }
  const std::vector<float> rows = Read(picture);
  for (size_t channel = 0; channel < 3; ++channel)
    for (size_t pixel = 0; pixel < kPixels; ++pixel)
      ASSERT_EQ(rows[channel * kPixels + pixel], static_cast<float>(3 * pixel + channel));
  Fill(picture, 300.6f);
  const fettle::Mapping bytes = picture.Map(FETTLE_MAP_READ, {.dtype = FETTLE_U8}).value();
  EXPECT_THAT(bytes.as<uint8_t>(), Each(255));
  EXPECT_TRUE(bytes.as<float>().empty());
}

TEST_P(Mapping, ReadsAndWritesInOneMap) {
  const fettle::Tensor picture = NewPicture();
  Fill(picture, 1);
  {
    const fettle::Mapping mapping = picture.Map(FETTLE_MAP_READ_WRITE, {.layout = "NHWC"}).value();
    EXPECT_EQ(mapping.as<float>()[4], 1);
    mapping.as<float>()[3] = 7;  // pixel 1, channel 0
  }
  const std::vector<float> rows = Read(picture);
  EXPECT_EQ(rows[1], 7);
  EXPECT_EQ(rows[0], 1);
}

TEST_P(Mapping, AnImageAsStoredTellsItsPitch) {
  if (on_cpu()) {
    EXPECT_EQ(session_->CreateTensor(FETTLE_F32, {1, 4, 2, 2}, {.memory = "image"}).code(),
              FETTLE_INVALID_ARGUMENT);
    return;
  }
  auto created = session_->CreateTensor(FETTLE_F32, {1, 3, kHeight, kWidth}, {.memory = "image"});
  if (!created.ok()) GTEST_SKIP() << created.message();
  const fettle::Tensor picture = std::move(created).value();
  {
    fettle::Mapping mapping = picture.Map(FETTLE_MAP_WRITE, {.as_stored = true}).value();
    const fettle_mapping& view = mapping.get();
    EXPECT_TRUE(view.direct);
    EXPECT_EQ(view.row_bytes * view.rows, kPixels * 4 * sizeof(float));
    ASSERT_GE(view.row_pitch, view.row_bytes);
    for (size_t row = 0; row < view.rows; ++row) {
      auto* const lanes =
          reinterpret_cast<float*>(static_cast<char*>(view.data) + row * view.row_pitch);
      for (size_t i = 0; i < view.row_bytes / sizeof(float); ++i)
        lanes[i] = i % 4 == 3 ? 0 : static_cast<float>(i % 4) + 1;
    }
  }
  const std::vector<float> rows = Read(picture);
  for (size_t channel = 0; channel < 3; ++channel)
    for (size_t pixel = 0; pixel < kPixels; ++pixel)
      ASSERT_EQ(rows[channel * kPixels + pixel], static_cast<float>(channel) + 1);
}

TEST_P(Mapping, SeveralTensorsAtOnce) {
  const fettle::Tensor a = NewPicture(), b = NewPicture(), c = NewResult();
  Fill(a, 1);
  {
    const fettle::Mapping first = a.Map(FETTLE_MAP_READ).value();
    const fettle::Mapping second = b.Map(FETTLE_MAP_WRITE).value();
    const fettle::Mapping third = c.Map(FETTLE_MAP_WRITE).value();
    std::memcpy(second.get().data, first.get().data, first.get().row_bytes);
    for (float& element : third.as<float>()) element = 3;
  }
  EXPECT_THAT(Read(b), Each(1.0f));
  EXPECT_THAT(Read(c), Each(3.0f));
}

TEST_P(Mapping, MappedTwiceUnmappedTwiceFreedWhileMapped) {
  const int64_t dims[] = {2, 3};
  fettle_tensor* tensor = nullptr;
  ASSERT_EQ(fettle_session_create_tensor(session_->get(), FETTLE_F32, 2, dims, nullptr, &tensor),
            FETTLE_OK);
  fettle_mapping mapping = FETTLE_MAPPING_INIT;
  EXPECT_EQ(fettle_tensor_unmap(tensor), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(fettle_last_error(), HasSubstr("the tensor is not mapped"));
  ASSERT_EQ(fettle_tensor_map(tensor, FETTLE_MAP_READ, nullptr, &mapping), FETTLE_OK);
  EXPECT_EQ(fettle_tensor_map(tensor, FETTLE_MAP_READ, nullptr, &mapping), FETTLE_BUSY);
  EXPECT_THAT(fettle_last_error(), HasSubstr("the tensor is mapped"));
  EXPECT_EQ(fettle_tensor_free(tensor), FETTLE_BUSY);
  EXPECT_EQ(fettle_tensor_unmap(tensor), FETTLE_OK);
  EXPECT_EQ(fettle_tensor_unmap(tensor), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_tensor_free(tensor), FETTLE_OK);
}

TEST_P(Mapping, ARunOnAMappedTensorIsRefused) {
  const fettle::Tensor picture = NewPicture(), result = NewResult();
  Fill(picture, 0.5f);
  session_->SetInput("picture", picture).value();
  session_->SetOutput("enhanced", result).value();
  {
    const fettle::Mapping mapping = picture.Map(FETTLE_MAP_READ).value();
    const auto refused = session_->Run();
    EXPECT_EQ(refused.code(), FETTLE_BUSY);
    EXPECT_THAT(refused.message(), HasSubstr("input 'picture': the tensor is mapped"));
  }
  {
    const fettle::Mapping mapping = result.Map(FETTLE_MAP_READ).value();
    EXPECT_THAT(session_->Run().message(), HasSubstr("output 'enhanced': the tensor is mapped"));
  }
  EXPECT_TRUE(session_->Run().ok());
}

TEST_P(Mapping, OutputsOfOtherShapesAndUnknownNamesAreRefused) {
  const fettle::Tensor picture = NewPicture();
  session_->SetInput("picture", picture).value();
  EXPECT_EQ(session_->SetOutput("nothing", picture).code(), FETTLE_NOT_FOUND);
  session_->SetOutput("enhanced", NewPicture()).value();
  const auto refused = session_->Run();
  EXPECT_EQ(refused.code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(refused.message(), HasSubstr("output 'enhanced': the run gives f32"));
  session_->UnsetOutput("enhanced").value();
  EXPECT_TRUE(session_->Run().ok());
}

TEST_P(Mapping, TensorsOutliveTheirSessionAndServeOthers) {
  const fettle::Tensor picture = NewPicture(), result = NewResult();
  Fill(picture, 0.5f);
  session_.reset();
  EXPECT_THAT(Read(picture), Each(0.5f));
  // On the CPU the memory of a device is reached through maps.
  fettle::Session other = fettle::Session::Create(model_, {.threads = 1}).value();
  other.SetInput("picture", picture).value();
  other.SetOutput("enhanced", result).value();
  const auto ran = other.Run();
  ASSERT_TRUE(ran.ok()) << ran.message();
  EXPECT_THAT(Read(result), Each(FloatNear(0.5f, 1e-5f)));
}

TEST_P(Mapping, FinelySharedMemoryNeedsNoMap) {
  Open({.threads = 2, .svm = "fine"});
  if (IsSkipped()) return;
  const fettle::Tensor picture = NewPicture(), result = NewResult();
  if (picture.as<float>().empty()) GTEST_SKIP() << "no finely shared memory here";
  for (float& element : picture.as<float>()) element = 0.25f;
  session_->SetInput("picture", picture).value();
  session_->SetOutput("enhanced", result).value();
  const auto ran = session_->Run();
  ASSERT_TRUE(ran.ok()) << ran.message();
  EXPECT_THAT(result.as<float>(), Each(FloatNear(0.25f, 1e-5f)));
  EXPECT_EQ(session_->transfers().maps + picture.transfers().maps, 0);
}

TEST_P(Mapping, WrappedMemoryGetsACopyOfTheOutput) {
  std::vector<float> pixels(3 * kPixels, 0.5f), enlarged(12 * kPixels);
  session_
      ->SetInput("picture",
                 fettle::Tensor::Wrap(std::span(pixels), {1, 3, kHeight, kWidth}).value())
      .value();
  session_
      ->SetOutput(
          "enhanced",
          fettle::Tensor::Wrap(std::span(enlarged), {1, 3, 2 * kHeight, 2 * kWidth}).value())
      .value();
  ASSERT_TRUE(session_->Run().ok());
  EXPECT_THAT(enlarged, Each(FloatNear(0.5f, 1e-5f)));
}

TEST_P(Mapping, RefusesUnknownForms) {
  const auto code = [&](const fettle::TensorOptions& options) {
    return session_->CreateTensor(FETTLE_F32, {1, 3, 4, 4}, options).code();
  };
  EXPECT_EQ(code({.memory = "texture"}), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(code({.layout = "HCWN"}), FETTLE_INVALID_ARGUMENT);
  EXPECT_NE(code({.memory = "image", .layout = "NHWC"}), FETTLE_OK);
  EXPECT_NE(code({.layout = "NC4HW4"}), FETTLE_OK);
  const fettle::Tensor picture = NewPicture();
  EXPECT_EQ(picture.Map(FETTLE_MAP_READ, {.layout = "HCWN"}).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(picture.Map(FETTLE_MAP_READ, {.dtype = FETTLE_I64}).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(picture.Map(static_cast<fettle_map_access>(0)).code(), FETTLE_INVALID_ARGUMENT);
}

INSTANTIATE_TEST_SUITE_P(Devices, Mapping, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
