// Which layers stay in fp32 because integers are slower: with costs that are given, not measured.
#include "quantise/speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "importers/onnx/order.h"
#include "quantise/quantise.h"
#include "tests/quantise/networks.h"

namespace fettle::quantise {
namespace {

using quantise_test::Load;
using quantise_test::Normalised;
using quantise_test::Pictures;
using quantise_test::Residual;
using testing::ElementsAre;

/// Times of a layer in ms.
struct Cost {
  double plain, quantised;
};

/// A device on which the n-th layer takes the n-th cost, and all else nothing.
class Device {
 public:
  Device(const std::string& network, std::vector<Cost> costs) : costs_(std::move(costs)) {
    plain_ = TimesOf(network);
  }

  Result<RaceTimes> operator()(const std::string& bytes) {
    ++races_;
    RaceTimes race{plain_, TimesOf(bytes)};
    race.ratio = race.quantised.ms / race.plain.ms;
    return race;
  }
  int races() const { return races_; }

 private:
  RunTimes TimesOf(const std::string& bytes) const {
    RunTimes times;
    const auto model = onnx::ReadModel(bytes);
    std::set<std::string_view> dequantised;
    size_t layer = 0;
    for (size_t i = 0; i < model->graph.nodes.size(); ++i) {
      const onnx::NodeRecord& node = model->graph.nodes[i];
      if (node.op_type == "DequantizeLinear") dequantised.insert(node.outputs[0]);
      if (node.op_type != "Conv" && node.op_type != "Gemm") continue;
      const Cost& cost = costs_[layer++];
      const double ms = dequantised.contains(node.inputs[1]) ? cost.quantised : cost.plain;
      times.steps["before_" + std::to_string(i) + "+" + onnx::LabelOf(node, i)] = ms;
      times.ms += ms;
    }
    return times;
  }

  std::vector<Cost> costs_;
  RunTimes plain_;
  int races_ = 0;
};

struct Written {
  QuantiseResult result;
  std::string source;
  int races = 0;
};

Written On(onnx_test::GraphParts parts, std::vector<Cost> costs, double min_sqnr_db = 10) {
  Written written;
  written.source = onnx_test::Model(Graph(parts)).bytes();
  Device device(written.source, std::move(costs));
  const Samples samples = Pictures(4);
  const Runs runs{samples, {.threads = 1}, nullptr};
  QuantiseOptions options{.min_sqnr_db = min_sqnr_db, .sensitivity_samples = 0};
  options.race = [&](const std::string& bytes) { return device(bytes); };
  auto result = Quantise({written.source, Load(written.source)}, runs, options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (result.ok()) written.result = *std::move(result);
  written.races = device.races();
  return written;
}

std::vector<Kept> KeptOf(const QuantiseResult& result) {
  std::vector<Kept> kept;
  for (const LayerReport& layer : result.layers) {
    EXPECT_EQ(layer.quantised, layer.kept == Kept::kNone);
    kept.push_back(layer.kept);
  }
  return kept;
}

TEST(Speed, LayersThatGainBecomeIntegers) {
  const Written written = On(Residual(), {{1, 0.5}, {1, 0.25}, {1, 0.5}});
  EXPECT_THAT(KeptOf(written.result), ElementsAre(Kept::kNone, Kept::kNone, Kept::kNone));
  EXPECT_EQ(written.races, 1);
  EXPECT_EQ(written.result.layers[1].times.plain, 1);
  EXPECT_EQ(written.result.layers[1].times.quantised, 0.25);
  EXPECT_EQ(written.result.budget_bytes, written.result.bytes.size());
}

TEST(Speed, TheLayerThatLosesStaysInFp32) {
  for (size_t slow = 0; slow < 3; ++slow) {
    std::vector<Cost> costs(3, Cost{1, 0.5});
    costs[slow] = {1, 3};
    std::vector<Kept> want(3, Kept::kNone);
    want[slow] = Kept::kSpeed;
    const Written written = On(Residual(), costs);
    EXPECT_EQ(KeptOf(written.result), want);
    EXPECT_EQ(Device(written.source, costs)(written.result.bytes)->quantised.ms, 2);
    EXPECT_EQ(written.result.race->quantised.ms, 4);
    EXPECT_GT(written.result.loss.sqnr_db, written.result.full_loss.sqnr_db);
  }
}

/// Their names hold their index in the file, which writing changes.
TEST(Speed, LayersWithoutNamesAreFound) {
  onnx_test::GraphParts parts = Residual();
  parts.nodes[0] = onnx_test::Node("Conv", {"x", "w1", "b1"}, {"c1"},
                                   {onnx_test::IntsAttribute("pads", {1, 1, 1, 1})});
  parts.nodes[3] = onnx_test::Node("Conv", {"p1", "w2"}, {"c2"},
                                   {onnx_test::IntsAttribute("pads", {1, 1, 1, 1})});
  const Written written = On(parts, {{1, 0.5}, {1, 3}, {1, 0.5}});
  EXPECT_THAT(KeptOf(written.result), ElementsAre(Kept::kNone, Kept::kSpeed, Kept::kNone));
}

TEST(Speed, WhereNoneGainsTheFileIsTheModel) {
  for (const onnx_test::GraphParts& parts : {Residual(), Normalised()}) {
    const Written written = On(parts, {{1, 3}, {1, 3}, {1, 3}});
    EXPECT_EQ(written.result.bytes, written.source);
    EXPECT_EQ(written.result.quantised_layers(), 0u);
    EXPECT_EQ(written.result.layers_kept(Kept::kSpeed), written.result.layers.size());
    EXPECT_TRUE(std::isinf(written.result.loss.sqnr_db));
    EXPECT_EQ(written.result.race->ratio, 3);
    EXPECT_NE(written.result.budget_bytes, written.source.size());
  }
}

TEST(Speed, WhatIsAboutAsFastIsKeptForItsSize) {
  const Written written = On(Residual(), {{1, 1.02}, {1, 1.02}, {1, 1.02}});
  EXPECT_EQ(written.result.quantised_layers(), 3u);
}

TEST(Speed, LayersBeyondTheBudgetStayWhateverTheyGain) {
  const double full = On(Residual(), {{1, 1}, {1, 1}, {1, 1}}).result.loss.sqnr_db;
  const Written written = On(Residual(), {{1, 0.1}, {1, 0.1}, {1, 0.1}}, full + 0.5);
  EXPECT_GT(written.result.layers_kept(Kept::kBudget), 0u);
  EXPECT_EQ(written.result.layers_kept(Kept::kSpeed), 0u);
}

TEST(Speed, ARaceThatFailsIsSaid) {
  const std::string bytes = onnx_test::Model(Graph(Residual())).bytes();
  const Samples samples = Pictures(2);
  QuantiseOptions options;
  options.race = [](const std::string&) -> Result<RaceTimes> {
    return Error(StatusCode::kCancelled, "cancelled");
  };
  const auto result = Quantise({bytes, Load(bytes)}, {samples, {.threads = 1}, nullptr}, options);
  EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
}

TEST(FastEnough, TakesTheMostIntegersOfTheFastest) {
  EXPECT_EQ(FastEnough({{{}, 0.9}, {{}, 0.89}, {{}, 1}}), 0u);
  EXPECT_EQ(FastEnough({{{}, 0.9}, {{}, 0.8}, {{}, 0.79}, {{}, 1}}), 1u);
  EXPECT_EQ(FastEnough({{{}, 2}, {{}, 1.5}, {{}, 1}}), 2u);
}

}  // namespace
}  // namespace fettle::quantise
