// The shipped matting network on a rendered picture: sizes, and agreement with the oracles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "landscape.h"
#include "runtime/session.h"

namespace fettle::tools {
namespace {

/// Luma and chroma of the landscape, as the network takes them.
runtime::TensorMap LandscapeInputs(int64_t width, int64_t height) {
  const Picture landscape = demo::RenderLandscape(width, height);
  Tensor luma = Tensor::Create(DType::kF32, Shape{1, 1, height, width}).value();
  Tensor chroma = Tensor::Create(DType::kF32, Shape{1, 2, height / 2, width / 2}).value();
  const int64_t part = chroma.elements() / 2;
  for (int64_t i = 0; i < width * height; ++i) {
    float ycc[3];
    RgbToYcc(landscape.samples.data() + 3 * i, ycc);
    luma.as<float>()[static_cast<size_t>(i)] = ycc[0];
    const int64_t x = i % width / 2, y = i / width / 2;
    for (int64_t plane = 0; plane < 2; ++plane)
      chroma.as<float>()[static_cast<size_t>(plane * part + y * (width / 2) + x)] = ycc[1 + plane];
  }
  runtime::TensorMap inputs;
  inputs["luma"] = std::move(luma);
  inputs["chroma"] = std::move(chroma);
  return inputs;
}

std::vector<float> MasksOf(const runtime::TensorMap& inputs, bool reference_only) {
  const std::string path = std::string(FETTLE_SOURCE_DIR) + "/models/person_108k.onnx";
  auto model = runtime::Model::Load(path);
  EXPECT_TRUE(model.ok()) << model.status().message();
  auto session = std::move(
      runtime::Session::Create(*model, {.threads = 2, .reference_only = reference_only}).value());
  runtime::TensorMap outputs;
  const Status status = session->Run(inputs, &outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  const auto masks = outputs.at("masks").as<float>();
  return {masks.begin(), masks.end()};
}

TEST(Matting, AgreesWithTheOracles) {
  for (const auto& [width, height] : {std::pair<int64_t, int64_t>{64, 48}, {16, 16}, {112, 32}}) {
    const runtime::TensorMap inputs = LandscapeInputs(width, height);
    const std::vector<float> masks = MasksOf(inputs, false), expected = MasksOf(inputs, true);
    ASSERT_EQ(masks.size(), static_cast<size_t>(2 * width * height));
    for (size_t i = 0; i < masks.size(); ++i) ASSERT_NEAR(masks[i], expected[i], 1e-5) << i;
  }
}

TEST(Matting, FindsNobodyInALandscape) {
  const std::vector<float> masks = MasksOf(LandscapeInputs(256, 144), false);
  const auto somebody = std::ranges::count_if(masks, [](float share) { return share > 0.5f; });
  EXPECT_LT(somebody, 256 * 144 / 50);
}

}  // namespace
}  // namespace fettle::tools
