// Sessions whose CPU answers until their device is ready, through libfettle.so alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "fettle/fettle.hpp"

namespace {

using ::testing::Each;
using ::testing::FloatNear;
using ::testing::HasSubstr;

/// One grey picture, whose double is as grey.
void Infer(fettle::Session& session) {
  fettle::Tensor picture = fettle::Tensor::Create(FETTLE_F32, {1, 3, 6, 7}).value();
  std::ranges::fill(picture.as<float>(), 0.5f);
  std::vector<std::pair<std::string, fettle::Tensor>> inputs;
  inputs.emplace_back("picture", std::move(picture));
  auto outputs = session.Infer(inputs, {"enhanced"});
  ASSERT_TRUE(outputs.ok()) << outputs.message();
  const fettle::Tensor enhanced = std::move(outputs).value()[0];
  EXPECT_THAT(enhanced.as<float>(), Each(FloatNear(0.5f, 1e-5f)));
}

bool RanOn(const fettle::Session& session, std::string_view device) {
  const auto steps = session.profile();
  return std::ranges::any_of(
      steps, [&](const fettle::Step& step) { return step.kernel.find(device) == 0; });
}

TEST(Start, TheCpuAnswersUntilTheDeviceIsReady) {
  const fettle::Model model = fettle::Model::Load(FETTLE_DEMO_MODEL).value();
  const char* const name = std::getenv("FETTLE_DEVICE");
  fettle::SessionOptions options;
  options.threads = 1;
  options.device = name == nullptr ? "opencl" : name;
  options.strict_device = true;
  options.start = "fast";
  auto created = fettle::Session::Create(model, options);
  if (created.code() == FETTLE_DEVICE_UNAVAILABLE) GTEST_SKIP() << created.message();
  fettle::Session session = std::move(created).value();
  Infer(session);
  EXPECT_TRUE(RanOn(session, "cpu."));
  while (!RanOn(session, "opencl.")) Infer(session);
  Infer(session);
}

TEST(Start, OtherWordsAreRefused) {
  const fettle::Model model = fettle::Model::Load(FETTLE_DEMO_MODEL).value();
  fettle::SessionOptions options;
  options.start = "soon";
  const auto created = fettle::Session::Create(model, options);
  EXPECT_EQ(created.code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(created.message(), HasSubstr("start: expected ready|fast, got 'soon'"));
}

}  // namespace
