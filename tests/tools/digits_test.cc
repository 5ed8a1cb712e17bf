// The shipped networks of digits on held-out pictures: right answers, bits, agreement with the
// oracles.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "io/picture.h"
#include "passes/binary/binarise.h"
#include "runtime/session.h"

namespace fettle::tools {
namespace {

constexpr int64_t kSide = 32, kColumns = 20, kClasses = 10;

/// Pictures that training never saw (training/bnn/pictures.py --mosaic --count 200), and their
/// digits.
struct Digits {
  Tensor pictures;  // [count, 1, kSide, kSide]
  std::string labels;
};

Digits ReadDigits(int64_t most) {
  const std::string folder = FETTLE_SOURCE_DIR "/tests/tools/digits/";
  std::ifstream lines(folder + "digits.txt");
  Digits digits;
  for (std::string line; std::getline(lines, line);) digits.labels += line;
  digits.labels.resize(std::min<size_t>(digits.labels.size(), most));
  const Picture mosaic = ReadPicture(folder + "digits.png").value();
  EXPECT_EQ(mosaic.width, kColumns * kSide);
  const auto count = static_cast<int64_t>(digits.labels.size());
  digits.pictures = Tensor::Create(DType::kF32, Shape{count, 1, kSide, kSide}).value();
  float* out = digits.pictures.as<float>().data();
  for (int64_t i = 0; i < count * kSide * kSide; ++i) {
    const int64_t picture = i / (kSide * kSide), row = i / kSide % kSide;
    const int64_t y = picture / kColumns * kSide + row;
    const int64_t x = picture % kColumns * kSide + i % kSide;
    out[i] = mosaic.samples[(y * mosaic.width + x) * mosaic.channels];
  }
  return digits;
}

std::string PathOf(const std::string& name) {
  return fmt::format("{}/models/{}.onnx", FETTLE_SOURCE_DIR, name);
}

/// [picture][kClasses].
std::vector<float> Scores(const std::string& name, const Tensor& pictures,
                          bool by_oracles = false) {
  const auto model = runtime::Model::Load(PathOf(name));
  EXPECT_TRUE(model.ok()) << model.status().message();
  const auto session =
      runtime::Session::Create(*model, {.threads = 2, .reference_only = by_oracles}).value();
  runtime::TensorMap inputs, outputs;
  inputs["pictures"] = pictures;
  const Status status = session->Run(inputs, &outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  const auto scores = outputs.at("scores").as<float>();
  return {scores.begin(), scores.end()};
}

/// What a network answers: a digit for each picture.
std::string Answers(const std::string& name, const Tensor& pictures) {
  const std::vector<float> scores = Scores(name, pictures);
  std::string answers;
  for (auto picture = scores.begin(); picture != scores.end(); picture += kClasses) {
    const auto digit = std::max_element(picture, picture + kClasses) - picture;
    answers += static_cast<char>('0' + digit);
  }
  return answers;
}

int64_t Equal(const std::string& a, const std::string& b) {
  int64_t equal = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) equal += a[i] == b[i] ? 1 : 0;
  return equal;
}

TEST(Digits, AnswersAreRightAsOftenAsWhenTheNetworksWereShipped) {
  const Digits digits = ReadDigits(200);
  for (const auto& [name, right] :
       {std::pair("digits_bnn", 198), {"digits_fp32", 198}, {"digits_int8", 198}}) {
    // Another order of additions may turn an answer that two digits share.
    EXPECT_NEAR(static_cast<double>(Equal(Answers(name, digits.pictures), digits.labels)), right, 1)
        << name;
  }
}

/// No order of additions turns a sign: scores differ by the rounding of the sums behind the last
/// one.
TEST(Digits, ScoresAreThoseOfTheOracles) {
  const Tensor pictures = ReadDigits(8).pictures;
  const std::vector<float> scores = Scores("digits_bnn", pictures);
  const std::vector<float> expected = Scores("digits_bnn", pictures, true);
  ASSERT_EQ(scores.size(), expected.size());
  for (size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], expected[i], 1e-4) << i;
}

}  // namespace
}  // namespace fettle::tools
