// DynamicQuantizeLinear of what has no place on a line of bytes, as ONNX Runtime answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/session.h"
#include "tests/session_of.h"

namespace fettle::runtime {
namespace {

using testing::ElementsAreArray;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

void ExpectBytes(const std::vector<float>& values, const std::vector<uint8_t>& bytes, float scale,
                 int zero) {
  for (const bool reference : {false, true}) {
    const auto session = SessionOf(
        "input %x: f32[?]\n%y, %s, %z = DynamicQuantizeLinear(%x)\noutput %y\noutput %s\n"
        "output %z\n",
        {.threads = 1, .reference_only = reference});
    const Tensor x = Tensor::FromVector(Shape{std::ssize(values)}, values).value();
    TensorMap outputs;
    const Status status = session->Run({{"x", x}}, &outputs);
    ASSERT_TRUE(status.ok()) << status.message();
    const Tensor& y = outputs.at("y");
    EXPECT_THAT(std::vector<uint8_t>(y.view().as<uint8_t>(), y.view().as<uint8_t>() + y.elements()),
                ElementsAreArray(bytes))
        << reference;
    EXPECT_EQ(outputs.at("s").view().as<float>()[0], scale) << reference;
    EXPECT_EQ(outputs.at("z").view().GetInt(0), zero) << reference;
  }
}

TEST(DynamicQuantise, NanHasNoPartInTheRange) {
  ExpectBytes({1, kNan, 2, -3}, {204, 0, 255, 0}, 5.0f / 255, 153);
  ExpectBytes({kNan, 1, 2}, {0, 127, 255}, 2.0f / 255, 0);
  ExpectBytes({kNan}, {0}, 1, 0);
  std::vector<float> many(40, kNan);
  std::vector<uint8_t> bytes(40, 0);
  ExpectBytes(many, bytes, 1, 0);
  many[17] = 255;
  bytes[17] = 255;
  ExpectBytes(many, bytes, 1, 0);
}

TEST(DynamicQuantise, InfiniteRangesHaveAZeroPoint) {
  ExpectBytes({kInf, 1, 2}, {0, 0, 0}, kInf, 0);
  ExpectBytes({-kInf, 1}, {0, 255}, kInf, 255);
  ExpectBytes({kInf, -kInf, 0}, {0, 0, 255}, kInf, 255);
}

}  // namespace
}  // namespace fettle::runtime
