// Whole networks: where integers go, what the written file holds, and what it computes.
#include "quantise/quantise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "importers/onnx/raise_opset.h"
#include "quantise/norms.h"
#include "tests/importers/model_writer.h"
#include "tests/quantise/networks.h"

namespace fettle::quantise {
namespace {

using onnx_test::FloatTensor;
using onnx_test::GraphParts;
using onnx_test::IntsAttribute;
using onnx_test::kFloat;
using onnx_test::Node;
using onnx_test::SeededFloats;
using onnx_test::Value;
using quantise_test::Load;
using quantise_test::Normalised;
using quantise_test::Pictures;
using quantise_test::Residual;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;

Result<QuantiseResult> Quantised(const std::string& bytes, const Samples& samples,
                                 const QuantiseOptions& options = {},
                                 const std::atomic<bool>* cancelled = nullptr) {
  return Quantise({bytes, Load(bytes)}, {samples, {.threads = 1, .cancelled = cancelled}, nullptr},
                  options);
}

std::vector<std::string> Operators(const std::string& bytes) {
  std::vector<std::string> operators;
  const auto model = onnx::ReadModel(bytes);
  for (const onnx::NodeRecord& node : model->graph.nodes) operators.emplace_back(node.op_type);
  return operators;
}

TEST(Placement, KeepsIntegersBetweenLayers) {
  const std::string bytes = onnx_test::Model(Graph(Residual())).bytes();
  const auto network = Network::Read(bytes, Load(bytes));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const std::vector<Layer> layers = FindLayers(*network);
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].result, "r1");
  const auto candidates = Candidates(*network, layers);
  const Placement all = Place(*network, layers, candidates, {.quantised = {true, true, true}});
  // The pool moves values: one grid. The sum has its own, behind its ReLU.
  EXPECT_THAT(all, testing::UnorderedElementsAre(Pair("x", "x"), Pair("r1", "r1"), Pair("p1", "r1"),
                                                 Pair("c2", "c2"), Pair("r2", "r2"), Pair("g", "g"),
                                                 Pair("f", "g")));
  // What only a layer in fp32 reads stays as it is.
  const Placement some = Place(*network, layers, candidates, {.quantised = {true, true, false}});
  EXPECT_THAT(some, Not(Contains(Key("f"))));
  const Placement alone =
      Place(*network, layers, candidates, {.quantised = {false, true, false}, .outputs = false});
  EXPECT_THAT(alone, testing::ElementsAre(Pair("p1", "p1")));
}

TEST(FindLayers, LeavesWhatRunsOnBits) {
  std::vector<float> signs = SeededFloats(32 * 16, 1);
  for (float& sign : signs) sign = sign < 0 ? -1 : 1;
  const GraphParts parts{
      .nodes = {Node("GreaterOrEqual", {"x", "zero"}, {"is"}),
                Node("Where", {"is", "one", "minus"}, {"s"}), Node("MatMul", {"s", "w1"}, {"m"}),
                Node("MatMul", {"m", "w2"}, {"y"})},
      .inputs = {Value("x", kFloat, {1, 32})},
      .outputs = {Value("y", kFloat, {1, 4})},
      .initializers = {FloatTensor("zero", {}, {0}), FloatTensor("one", {}, {1}),
                       FloatTensor("minus", {}, {-1}), FloatTensor("w1", {32, 16}, signs),
                       FloatTensor("w2", {16, 4}, SeededFloats(64, 2))}};
  const std::string bytes = onnx_test::Model(Graph(parts)).bytes();
  const auto network = Network::Read(bytes, Load(bytes));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const std::vector<Layer> layers = FindLayers(*network);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].weight_name, "w2");
}

TEST(FoldNorms, ComputesTheNormInTheLayer) {
  const std::string bytes = onnx_test::Model(Graph(Normalised())).bytes();
  const auto network = Network::Read(bytes, Load(bytes));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto folded = FoldNorms(*network);
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_THAT(Operators(*folded),
              testing::ElementsAre("Conv", "Relu", "GlobalAveragePool", "Flatten", "Gemm"));
  const auto record = onnx::ReadModel(*folded);
  EXPECT_EQ(record->graph.initializers.size(), 3u);  // two weights and the new bias
  const Samples samples = Pictures(3);
  const Runs runs{samples, {.threads = 1}, nullptr};
  const auto wanted = Observe(Load(bytes), {}, runs);
  ASSERT_TRUE(wanted.ok()) << wanted.status().message();
  const auto loss = LossOf(Load(*folded), wanted->outputs, 3, runs, "");
  ASSERT_TRUE(loss.ok()) << loss.status().message();
  EXPECT_GT(loss->sqnr_db, 100);
}

TEST(FoldNorms, LeavesWhatOthersRead) {
  GraphParts shared = Normalised();
  shared.outputs.push_back(Value("c1", kFloat, {1, 4, 6, 6}));
  for (const GraphParts& parts : {shared, Residual()}) {
    const std::string bytes = onnx_test::Model(Graph(parts)).bytes();
    const auto network = Network::Read(bytes, Load(bytes));
    ASSERT_TRUE(network.ok()) << network.status().message();
    const auto folded = FoldNorms(*network);
    ASSERT_TRUE(folded.ok()) << folded.status().message();
    EXPECT_THAT(*folded, IsEmpty());
  }
}

TEST(Quantise, NormsLeaveIntegersBehindTheirRelu) {
  const std::string bytes = onnx_test::Model(Graph(Normalised())).bytes();
  const auto result = Quantised(bytes, Pictures(4));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->quantised_layers(), 2u);
  EXPECT_THAT(Operators(result->bytes), Not(Contains("BatchNormalization")));
}

TEST(Quantise, KeepsTheBudgetAndIsDeterministic) {
  const std::string bytes = onnx_test::Model(Graph(Residual())).bytes();
  const auto result = Quantised(bytes, Pictures(6));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->quantised_layers(), 3u);
  EXPECT_GT(result->loss.sqnr_db, 25);
  for (const LayerReport& layer : result->layers) EXPECT_GT(*layer.sqnr_db, 25) << layer.name;
  EXPECT_LT(result->bytes.find("QuantizeLinear"), result->bytes.size());
  EXPECT_EQ(Quantised(bytes, Pictures(6))->bytes, result->bytes);
}

TEST(Quantise, EveryMethodComputesTheNetwork) {
  const std::string bytes = onnx_test::Model(Graph(Residual())).bytes();
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kMse}) {
    for (const DType activations : {DType::kU8, DType::kI8}) {
      for (const Switch one : {Switch::kOn, Switch::kOff}) {
        QuantiseOptions options{.equalisation = one, .bias_correction = one};
        options.grids.ranges = options.grids.weights.method = method;
        options.grids.activations = activations;
        const auto result = Quantised(bytes, Pictures(6), options);
        ASSERT_TRUE(result.ok()) << result.status().message();
        EXPECT_GT(result->loss.sqnr_db, 22);
        EXPECT_EQ(result->bias_corrected, one == Switch::kOn);
      }
    }
  }
}

TEST(Quantise, WhatAnImpossibleBudgetLeavesIsNothing) {
  const std::string bytes = onnx_test::Model(Graph(Residual())).bytes();
  const auto result = Quantised(bytes, Pictures(2), {.min_sqnr_db = 300});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->quantised_layers(), 0u);
  EXPECT_THAT(result->bytes, IsEmpty());
}

TEST(Quantise, LayersStayInFp32UntilTheBudgetHolds) {
  const std::string bytes = onnx_test::Model(Graph(Residual())).bytes();
  const double full = Quantised(bytes, Pictures(6))->loss.sqnr_db;
  const auto result =
      Quantised(bytes, Pictures(6), {.min_sqnr_db = full + 0.5, .sensitivity_samples = 0});
  ASSERT_TRUE(result.ok());
  EXPECT_LT(result->quantised_layers(), 3u);
  if (result->quantised_layers() > 0) {
    EXPECT_GE(result->loss.sqnr_db, full + 0.5);
  }
}

TEST(Quantise, LeavesWhatItDoesNotNameAsItWas) {
  GraphParts parts = Residual();
  parts.nodes.push_back(Node("Sigmoid", {"x"}, {"z"}, {}, "apart"));
  parts.outputs.push_back(Value("z", kFloat, {1, 3, 8, 8}));
  onnx_test::Message model = onnx_test::Model(Graph(parts));
  // metadata_props, and a field of a later ONNX.
  model.Sub(14, onnx_test::Message().Text(1, "author").Text(2, "me")).Text(900, "unknown");
  const auto result = Quantised(model.bytes(), Pictures(2));
  ASSERT_TRUE(result.ok()) << result.status().message();
  const auto apart = Node("Sigmoid", {"x_dequantized"}, {"z"}, {}, "apart");
  for (const std::string& piece :
       {apart.bytes(), Value("y", kFloat, {1, 5}).bytes(), std::string("author"),
        onnx_test::Message().Text(900, "unknown").bytes()})
    EXPECT_LT(result->bytes.find(piece), result->bytes.size());
  EXPECT_GE(result->bytes.find(FloatTensor("w1", {4, 3, 3, 3}, SeededFloats(108, 1)).bytes()),
            result->bytes.size())
      << "the fp32 weights are left out";
}

TEST(Quantise, RefusesWhatIsQuantisedAlready) {
  const std::string bytes = onnx_test::Model(Graph(Residual())).bytes();
  const auto once = Quantised(bytes, Pictures(1));
  const auto twice = Quantised(once->bytes, Pictures(1));
  EXPECT_EQ(twice.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(twice.status().message(), HasSubstr("already quantised"));
}

TEST(Quantise, RefusesWhatHasNothingToQuantise) {
  const GraphParts parts = {.nodes = {Node("Relu", {"x"}, {"y"})},
                            .inputs = {Value("x", kFloat, {1, 3, 8, 8})},
                            .outputs = {Value("y", kFloat, {1, 3, 8, 8})}};
  const auto result = Quantised(onnx_test::Model(Graph(parts)).bytes(), Pictures(1));
  EXPECT_THAT(result.status().message(), HasSubstr("no layer to quantise"));
}

TEST(Quantise, EndsWhenItIsCancelled) {
  const std::atomic<bool> cancelled = true;
  const auto result =
      Quantised(onnx_test::Model(Graph(Residual())).bytes(), Pictures(1), {}, &cancelled);
  EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
}

TEST(Quantise, WeightsBehindIdentityNodesAreWeights) {
  GraphParts parts = Residual();
  parts.nodes[0] = Node("Conv", {"x", "w0", "b1"}, {"c1"}, {IntsAttribute("pads", {1, 1, 1, 1})});
  parts.nodes.insert(parts.nodes.begin(), Node("Identity", {"w1"}, {"w0"}));
  const auto result = Quantised(onnx_test::Model(Graph(parts)).bytes(), Pictures(2));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->quantised_layers(), 3u);
  EXPECT_THAT(Operators(result->bytes), Not(Contains("Identity")));
}

TEST(RaiseOpset, MovesAttributesToOperands) {
  GraphParts parts = Residual();
  parts.nodes[1] = Node("Clip", {"c1"}, {"r1"},
                        {onnx_test::FloatAttribute("min", 0), onnx_test::FloatAttribute("max", 6)});
  parts.nodes.push_back(Node("Unsqueeze", {"f"}, {"u"}, {IntsAttribute("axes", {0})}));
  parts.outputs.push_back(Value("u", kFloat, {1, 1, 4}));
  // IR version 3 lists initialisers as inputs.
  for (const char* name : {"w1", "b1"}) parts.inputs.push_back(Value(name, kFloat, {4}));
  const std::string bytes = onnx_test::Model(Graph(parts), 9, {}, 3).bytes();
  const auto result = Quantised(bytes, Pictures(3));
  ASSERT_TRUE(result.ok()) << result.status().message();
  const auto model = onnx::ReadModel(result->bytes);
  EXPECT_EQ(onnx::OpsetOf(*model), 13);
  EXPECT_EQ(model->ir_version, 7);
  EXPECT_EQ(model->graph.inputs.size(), 1u);
  for (const onnx::NodeRecord& node : model->graph.nodes) {
    if (node.op_type == "Clip" || node.op_type == "Unsqueeze") {
      EXPECT_EQ(node.inputs.size(), node.op_type == "Clip" ? 3u : 2u);
    }
  }
}

TEST(RaiseOpset, NamesWhatCannotBeCarriedOver) {
  GraphParts parts = Residual();
  parts.nodes.push_back(Node("Upsample", {"x"}, {"u"},
                             {onnx_test::Attribute("scales").Int(20, 6).Floats(7, {1, 1, 2, 2})},
                             "up"));
  parts.outputs.push_back(Value("u", kFloat, {1, 3, 16, 16}));
  const auto result = Quantised(onnx_test::Model(Graph(parts), 7).bytes(), Pictures(1));
  EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(result.status().message(), HasSubstr("'up' (Upsample, opset 7)"));
}

}  // namespace
}  // namespace fettle::quantise
