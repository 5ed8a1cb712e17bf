// The shipped super-resolution networks on a rendered picture: quality, agreement with the oracles,
// int8 against fp32, sizes, borders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <string>

#include "io/picture_tensor.h"
#include "landscape.h"
#include "runtime/session.h"

namespace fettle::tools {
namespace {

constexpr int64_t kWidth = 256, kHeight = 160;
constexpr int64_t kBorder = 2;
/// A step of the int8 networks' outputs.
constexpr float kStep = 1.0f / 255;

/// The whole of a picture, or its frame of kBorder pixels alone, or all but that.
enum class Part { kAll, kFrame, kInside };

/// Decibels between two grey pictures of equal size.
double Psnr(const Picture& a, const Picture& b, Part part) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < a.pixels(); ++i) {
    const int64_t x = i % a.width, y = i / a.width;
    const bool inside = std::min({x, y, a.width - 1 - x, a.height - 1 - y}) >= kBorder;
    if (part != Part::kAll && inside != (part == Part::kInside)) continue;
    const double difference = a.samples[static_cast<size_t>(i)] - b.samples[static_cast<size_t>(i)];
    sum += difference * difference;
    ++count;
  }
  return -10 * std::log10(sum / static_cast<double>(count) + 1e-12);
}

float LargestDifference(const Picture& a, const Picture& b) {
  EXPECT_EQ(a.samples.size(), b.samples.size());
  float largest = 0;
  for (size_t i = 0; i < a.samples.size(); ++i)
    largest = std::max(largest, std::abs(a.samples[i] - b.samples[i]));
  return largest;
}

Picture Crop(const Picture& grey, int64_t left, int64_t top, int64_t width, int64_t height) {
  Picture out{.width = width, .height = height, .channels = 1};
  for (int64_t y = top; y < top + height; ++y) {
    const auto row = grey.samples.begin() + y * grey.width + left;
    out.samples.insert(out.samples.end(), row, row + width);
  }
  return out;
}

/// One of models/: a session that keeps its model.
class Network {
 public:
  explicit Network(const std::string& name, bool reference_only = false) {
    const std::string path = fmt::format("{}/models/{}.onnx", FETTLE_SOURCE_DIR, name);
    auto model = runtime::Model::Load(path);
    EXPECT_TRUE(model.ok()) << model.status().message();
    session_ = std::move(runtime::Session::Create(*model,
                                                  {.threads = 2, .reference_only = reference_only}))
                   .value();
  }

  Picture Enlarge(const Picture& grey) {
    std::vector<std::string> warnings;
    runtime::TensorMap inputs, outputs;
    inputs["luma"] =
        PictureToTensor(grey, Preprocess::kY, DType::kF32, Shape{1, 1, -1, -1}, warnings).value();
    const Status status = session_->Run(inputs, &outputs);
    EXPECT_TRUE(status.ok()) << status.message();
    return TensorToPicture(outputs.at("enhanced"), Preprocess::kY, std::nullopt).value();
  }

 private:
  std::unique_ptr<runtime::Session> session_;
};

struct Shipped {
  const char* name;
  /// Decibels over bicubic on the landscape: inside, as ONNX Runtime computes it too.
  double gain;
  /// How many low-resolution pixels away an output can still see.
  int64_t radius;

  bool quantised() const { return std::string(name).ends_with("int8"); }
};

void PrintTo(const Shipped& shipped, std::ostream* out) { *out << shipped.name; }

class SuperResolution : public ::testing::TestWithParam<Shipped> {
 protected:
  static void SetUpTestSuite() {
    const Picture landscape = demo::RenderLandscape(kWidth, kHeight);
    Picture high{.width = kWidth, .height = kHeight, .channels = 1};
    for (size_t i = 0; i < static_cast<size_t>(landscape.pixels()); ++i) {
      float ycc[3];
      RgbToYcc(landscape.samples.data() + 3 * i, ycc);
      high.samples.push_back(ycc[0]);
    }
    high_ = new Picture(high);
    low_ = new Picture(Resize(high, kWidth / 2, kHeight / 2));
    bicubic_ = new Picture(Resize(*low_, kWidth, kHeight));
  }
  static void TearDownTestSuite() {
    delete high_;
    delete low_;
    delete bicubic_;
  }

  static const Picture *high_, *low_, *bicubic_;
};
const Picture* SuperResolution::high_ = nullptr;
const Picture* SuperResolution::low_ = nullptr;
const Picture* SuperResolution::bicubic_ = nullptr;

TEST_P(SuperResolution, GainsOverBicubicWhatItDidWhenItWasShipped) {
  const Picture enlarged = Network(GetParam().name).Enlarge(*low_);
  ASSERT_EQ(enlarged.width, kWidth);
  ASSERT_EQ(enlarged.height, kHeight);
  const double bicubic = Psnr(*bicubic_, *high_, Part::kInside);
  EXPECT_NEAR(Psnr(enlarged, *high_, Part::kInside) - bicubic, GetParam().gain, 0.02);
}

TEST_P(SuperResolution, LeavesNoSeamAtTheBorder) {
  Network network(GetParam().name);
  const Picture enlarged = network.Enlarge(*low_);
  EXPECT_GT(Psnr(enlarged, *high_, Part::kFrame), Psnr(*bicubic_, *high_, Part::kFrame));
  // The int8 networks clip what is brighter; models/README.md says by how much.
  for (const float level : {0.0f, 0.2f, 0.8f}) {
    Picture flat{.width = 40, .height = 30, .channels = 1};
    flat.samples.assign(40 * 30, level);
    const Picture large = Resize(flat, 80, 60);
    EXPECT_LE(LargestDifference(network.Enlarge(flat), large), 3.5f * kStep) << level;
  }
}

TEST_P(SuperResolution, AgreesWithTheOracles) {
  const Picture small = Crop(*low_, 30, 20, 41, 27);
  const Picture expected = Network(GetParam().name, true).Enlarge(small);
  const Picture enlarged = Network(GetParam().name).Enlarge(small);
  EXPECT_LE(LargestDifference(enlarged, expected), GetParam().quantised() ? 1.01f * kStep : 1e-5f);
}

TEST_P(SuperResolution, TakesAnySizeAndSeesNoFurtherThanItsRadius) {
  Network network(GetParam().name);
  const Picture whole = network.Enlarge(*low_);
  const int64_t radius = GetParam().radius;
  for (const auto& [width, height] : {std::pair<int64_t, int64_t>{29, 31}, {64, 48}, {33, 80}}) {
    const Picture part = network.Enlarge(Crop(*low_, 0, 0, width, height));
    ASSERT_EQ(part.width, 2 * width);
    ASSERT_EQ(part.height, 2 * height);
    // At the cut sides the part sees zeros where the whole sees the picture.
    const int64_t right = 2 * (width - radius);
    const int64_t bottom = height == low_->height ? 2 * height : 2 * (height - radius);
    EXPECT_LE(LargestDifference(Crop(part, 0, 0, right, bottom), Crop(whole, 0, 0, right, bottom)),
              1e-5f)
        << width << " x " << height;
  }
  for (const auto& [width, height] : {std::pair<int64_t, int64_t>{1, 1}, {2, 1}, {1, 17}}) {
    const Picture tiny = network.Enlarge(Crop(*low_, 5, 5, width, height));
    EXPECT_EQ(tiny.samples.size(), static_cast<size_t>(4 * width * height));
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, SuperResolution,
                         ::testing::Values(Shipped{"sr_x2_10k", 2.70, 6},
                                           Shipped{"sr_x2_10k_int8", 2.53, 6},
                                           Shipped{"sr_x2_20k", 2.96, 10},
                                           Shipped{"sr_x2_20k_int8", 2.74, 10}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(SuperResolution, QuantisedNetworksAreCloseToTheFloatOnes) {
  for (const std::string name : {"sr_x2_10k", "sr_x2_20k"}) {
    const Picture exact = Network(name).Enlarge(*low_);
    const Picture quantised = Network(name + "_int8").Enlarge(*low_);
    EXPECT_GE(Psnr(quantised, exact, Part::kAll), 50) << name;
  }
}

}  // namespace
}  // namespace fettle::tools
