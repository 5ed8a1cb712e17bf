// The rules of `fettle advise`: what they find, and that what is to stay the same does; the grids
// of `fettle sweep`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advice/rules.h"
#include "report/judgement.h"
#include "runtime/session.h"
#include "sweep/grid.h"
#include "tests/importers/model_writer.h"

namespace fettle::tools {
namespace {

using onnx_test::FloatTensor;
using onnx_test::GraphParts;
using onnx_test::IntAttribute;
using onnx_test::IntsAttribute;
using onnx_test::kFloat;
using onnx_test::Node;
using onnx_test::SeededFloats;
using onnx_test::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

onnx_test::Message Weights(const std::string& name, const std::vector<int64_t>& dims) {
  size_t count = 1;
  for (int64_t extent : dims) count *= static_cast<size_t>(extent);
  return FloatTensor(name, dims, SeededFloats(count, count + name.size()));
}

struct Ran {
  std::shared_ptr<const runtime::Model> model;
  std::map<std::string, Shape, std::less<>> shapes;
  runtime::TensorMap outputs;
};

Ran RunModel(const std::string& bytes) {
  Ran ran;
  const auto model = runtime::Model::LoadBytes(std::as_bytes(std::span(bytes)), "model");
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (!model.ok()) return ran;
  ran.model = *model;
  const auto session = runtime::Session::Create(*model, {.threads = 1});
  const auto x = Tensor::FromVector(Shape{1, 3, 16, 16}, SeededFloats(768, 7));
  const Status status = (*session)->Run({{"x", *x}}, &ran.outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return ran;
}

/// A network with what the rules look at, and the changes that they list.
struct Case {
  explicit Case(GraphParts parts) : bytes(onnx_test::Model(onnx_test::Graph(parts)).bytes()) {
    before = RunModel(bytes);
    network = *quantise::Network::Read(bytes, before.model);
    for (const ir::Value& value : before.model->graph().values())
      if (value.has_concrete_shape()) before.shapes[value.name] = *value.shape;
    subject.emplace(Subject{*network, before.shapes, quantise::FreshNames(*network), 1});
  }

  std::vector<Change> List(Status (*rule)(Subject&, std::vector<Change>&)) {
    std::vector<Change> changes;
    EXPECT_TRUE(rule(*subject, changes).ok());
    return changes;
  }
  /// What the network computes with the change; checks what it says of that.
  Ran With(const Change& change) {
    const Change* const only = &change;
    const auto changed = ApplyChanges(*subject, std::span(&only, 1));
    EXPECT_TRUE(changed.ok()) << changed.status().message();
    Ran after = RunModel(*changed);
    const Tensor &got = after.outputs.at("y"), &want = before.outputs.at("y");
    EXPECT_EQ(got.shape(), want.shape());
    EXPECT_EQ(Judge(got, want, {}).ok, change.same_function) << change.text;
    return after;
  }

  std::string bytes;
  Ran before;
  std::optional<quantise::Network> network;
  std::optional<Subject> subject;
};

int64_t Nodes(const Ran& ran, std::string_view op) {
  const auto& nodes = ran.model->imported_graph().nodes();
  return std::count_if(nodes.begin(), nodes.end(),
                       [&](const ir::Node& node) { return node.op == op; });
}

/// 30 channels that pass an activation, a normalisation, a depthwise convolution, a gate and a sum,
/// two of whose convolutions share a bias with a third one.
GraphParts Wide() {
  return {
      .nodes = {Node("Conv", {"x", "a", "bias"}, {"a1"}, {IntsAttribute("pads", {1, 1, 1, 1})},
                     "a"),
                Node("BatchNormalization", {"a1", "one", "bias", "bias", "one"}, {"a2"}),
                Node("Relu", {"a2"}, {"a3"}),
                Node("Conv", {"a3", "d", "bias"}, {"d1"},
                     {IntsAttribute("pads", {1, 1, 1, 1}), IntAttribute("group", 30)}, "d"),
                Node("GlobalAveragePool", {"d1"}, {"g1"}),
                Node("Conv", {"g1", "g", "bias"}, {"g2"}, {}, "g"), Node("Sigmoid", {"g2"}, {"g3"}),
                Node("Mul", {"d1", "g3"}, {"m1"}), Node("Mul", {"m1", "scale"}, {"m2"}),
                Node("Add", {"m2", "a3"}, {"s"}), Node("Conv", {"s", "z"}, {"y"}, {}, "z")},
      .inputs = {Value("x", kFloat, {1, 3, 16, 16})},
      .outputs = {Value("y", kFloat, {1, 30, 16, 16})},
      .initializers = {Weights("a", {30, 3, 3, 3}), Weights("bias", {30}),
                       FloatTensor("one", {30}, std::vector<float>(30, 1.5F)),
                       Weights("d", {30, 1, 3, 3}), Weights("g", {30, 30, 1, 1}),
                       Weights("scale", {30, 1, 1}), Weights("z", {30, 30, 1, 1})}};
}

TEST(Advice, WidensAllThatSharesChannelsAndKeepsTheFunction) {
  Case wide(Wide());
  const std::vector<Change> changes = wide.List(WidenChannels);
  ASSERT_THAT(changes, SizeIs(1));  // 32; the output's own channels stay
  EXPECT_EQ(changes[0].text, "32 channels instead of 30");
  const Ran after = wide.With(changes[0]);
  for (const ir::Node& node : after.model->imported_graph().nodes()) {
    if (node.op != "Conv") continue;
    const Shape& weights = *after.model->imported_graph().value(node.inputs[1]).shape;
    EXPECT_EQ(weights[0], node.name == "z" ? 30 : 32) << node.name;
    EXPECT_EQ(node.attributes.Int("group", 1), node.name == "d" ? 32 : 1);
  }
}

TEST(Advice, LeavesChannelsAloneThatSomethingElseReads) {
  GraphParts parts = Wide();
  parts.nodes.back() = Node("Transpose", {"s"}, {"t"}, {IntsAttribute("perm", {0, 2, 3, 1})});
  parts.nodes.push_back(Node("Transpose", {"t"}, {"y"}, {IntsAttribute("perm", {0, 3, 1, 2})}));
  EXPECT_THAT(Case(parts).List(WidenChannels), IsEmpty());
}

/// Two convolutions of 12 channels, one after the other, the first with a channel of zeros, whose
/// bias is all that it has, and one that nobody reads.
GraphParts Narrow() {
  std::vector<float> first = SeededFloats(12 * 3, 5), second = SeededFloats(12 * 12, 6);
  for (size_t i = 0; i < 3; ++i) first[4 * 3 + i] = 0;
  for (size_t i = 0; i < 12; ++i) second[i * 12 + 7] = 0;
  std::vector<float> bias(12, 0.5F);
  bias[4] = 1e-3F;
  return {.nodes = {Node("Conv", {"x", "a", "bias"}, {"a1"}, {}, "a"), Node("Relu", {"a1"}, {"a2"}),
                    Node("Conv", {"a2", "b"}, {"b1"}, {}, "b"),
                    Node("Conv", {"b1", "z"}, {"y"}, {}, "z")},
          .inputs = {Value("x", kFloat, {1, 3, 16, 16})},
          .outputs = {Value("y", kFloat, {1, 3, 16, 16})},
          .initializers = {FloatTensor("a", {12, 3, 1, 1}, first), FloatTensor("bias", {12}, bias),
                           FloatTensor("b", {12, 12, 1, 1}, second), Weights("z", {3, 12, 1, 1})}};
}

TEST(Advice, TrimsChannelsOfLeastWeight) {
  Case narrow(Narrow());
  const std::vector<Change> trims = narrow.List(TrimChannels);
  ASSERT_THAT(trims, SizeIs(3));  // both places, and each
  EXPECT_EQ(trims[0].text, "8 channels instead of 12 in 2 places");
  EXPECT_THAT(trims[0].places, SizeIs(2));
  EXPECT_EQ(trims[1].text, "8 channels instead of 12");
  const TrimmedPlace& place = trims[1].places[0];
  EXPECT_THAT(place.writers, ElementsAre(0));
  EXPECT_THAT(place.dropped, SizeIs(4));
  EXPECT_THAT(place.dropped, testing::IsSupersetOf({4, 7}));
  EXPECT_GT(place.carried, 0);
  EXPECT_LT(place.carried, 4.0 / 12);
  for (const Change& trim : trims) {
    const Ran after = narrow.With(trim);
    for (const ir::Node& node : after.model->imported_graph().nodes()) {
      if (node.op != "Conv") continue;
      const Shape& weights = *after.model->imported_graph().value(node.inputs[1]).shape;
      const bool trimmed = (node.name == "a" && trim.places[0].writers[0] == 0) ||
                           (node.name == "b" && trim.places.back().writers[0] != 0);
      EXPECT_EQ(weights[0], node.name == "z" ? 3 : trimmed ? 8 : 12) << node.name << trim.text;
    }
  }
}

TEST(Advice, TrimsThatDropNothingComputeTheSame) {
  GraphParts parts = Narrow();
  std::vector<float> second = SeededFloats(12 * 12, 6);
  for (size_t i = 0; i < second.size(); ++i)
    if (i % 12 == 1 || i % 12 == 3 || i % 12 == 8 || i % 12 == 10) second[i] = 0;
  parts.initializers[2] = FloatTensor("b", {12, 12, 1, 1}, second);
  Case narrow(parts);
  std::vector<Change> trims = narrow.List(TrimChannels);
  ASSERT_THAT(trims, SizeIs(3));
  EXPECT_THAT(trims[1].places[0].dropped, ElementsAre(1, 3, 8, 10));
  EXPECT_EQ(trims[1].places[0].carried, 0);
  trims[1].same_function = true;  // as nobody reads them
  narrow.With(trims[1]);
}

TEST(Advice, TrimsAllThatSharesChannels) {
  Case wide(Wide());
  const std::vector<Change> trims = wide.List(TrimChannels);
  ASSERT_THAT(trims, SizeIs(2));  // 16 and 24 of 30, in the one place that there is
  for (const Change& trim : trims) {
    const Ran after = wide.With(trim);
    for (const ir::Node& node : after.model->imported_graph().nodes())
      if (node.name == "d") EXPECT_EQ(node.attributes.Int("group", 1), trim.channels);
  }
  // Channels that grow and are trimmed exclude each other.
  const std::vector<Change> wider = wide.List(WidenChannels);
  const std::vector<const Change*> both = {&wider[0], &trims[0]};
  EXPECT_THAT(ApplyChanges(*wide.subject, both).status().message(), HasSubstr("exclude"));
}

TEST(Advice, SplitsWindowsOfDepthwiseConvolutions) {
  Case window({.nodes = {Node("Conv", {"x", "w", "b"}, {"y"},
                              {IntsAttribute("pads", {2, 2, 2, 2}),
                               IntsAttribute("strides", {2, 2}), IntAttribute("group", 3)},
                              "deep")},
               .inputs = {Value("x", kFloat, {1, 3, 16, 16})},
               .outputs = {Value("y", kFloat, {1, 3, 8, 8})},
               .initializers = {Weights("w", {3, 1, 5, 5}), Weights("b", {3})}});
  const std::vector<Change> changes = window.List(SplitWindows);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(Nodes(window.With(changes[0]), "Conv"), 2);
}

TEST(Advice, TakesReluForCostlyActivations) {
  Case swish({.nodes = {Node("Sigmoid", {"x"}, {"s"}), Node("Mul", {"x", "s"}, {"m"}),
                        Node("HardSwish", {"m"}, {"h"}), Node("Tanh", {"h"}, {"y"})},
              .inputs = {Value("x", kFloat, {1, 3, 16, 16})},
              .outputs = {Value("y", kFloat, {1, 3, 16, 16})}});
  const std::vector<Change> changes = swish.List(SimplifyActivations);
  ASSERT_THAT(changes, SizeIs(3));
  EXPECT_EQ(changes[1].text, "ReLU instead of Swish in 1 place");
  const Ran after = swish.With(changes[1]);
  EXPECT_EQ(Nodes(after, "Sigmoid"), 0);
  EXPECT_EQ(Nodes(after, "Relu"), 1);
}

TEST(Advice, PutsPoolsBeforePointwiseConvolutionsAndSplitsThoseOfAConcat) {
  Case linear(
      {.nodes = {Node("Conv", {"x", "a", "b"}, {"a1"}, {}, "a"), Node("Relu", {"a1"}, {"a2"}),
                 Node("Concat", {"x", "a2"}, {"c"}, {IntAttribute("axis", 1)}),
                 Node("Conv", {"c", "w", "b"}, {"w1"}, {}, "w"),
                 Node("AveragePool", {"w1"}, {"y"},
                      {IntsAttribute("kernel_shape", {2, 2}), IntsAttribute("strides", {2, 2})})},
       .inputs = {Value("x", kFloat, {1, 3, 16, 16})},
       .outputs = {Value("y", kFloat, {1, 4, 8, 8})},
       .initializers = {Weights("a", {4, 3, 1, 1}), Weights("b", {4}),
                        Weights("w", {4, 7, 1, 1})}});
  const std::vector<Change> pools = linear.List(PoolFirst), concats = linear.List(SplitConcats);
  ASSERT_THAT(pools, SizeIs(1));
  ASSERT_THAT(concats, SizeIs(1));
  linear.With(pools[0]);
  const Ran after = linear.With(concats[0]);
  EXPECT_EQ(Nodes(after, "Concat"), 0);
  EXPECT_EQ(Nodes(after, "Conv"), 3);
  // Both are about one convolution.
  const std::vector<const Change*> both = {&pools[0], &concats[0]};
  EXPECT_THAT(ApplyChanges(*linear.subject, both).status().message(), HasSubstr("exclude"));
}

TEST(Sweep, ReadsSizes) {
  EXPECT_THAT(*ParseSizes("--cin", "8"), ElementsAre(8));
  EXPECT_THAT(*ParseSizes("--cin", "24,8,8"), ElementsAre(8, 24));
  EXPECT_THAT(*ParseSizes("--cin", "8:64"), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(*ParseSizes("--cin", "8:30:10,3"), ElementsAre(3, 8, 18, 28));
  EXPECT_THAT(*ParseSizes("--cin", "8:20:x1.5"), ElementsAre(8, 12, 18));
  EXPECT_THAT(*ParseSizes("--cin", "1:4:x1.01"), ElementsAre(1, 2, 3, 4));
  for (const char* bad : {"", "0", "-8", "8:", "8:4", "8:16:0", "8:16:x1", "8:16:x", "8:16:2:3",
                          "a", "8,,16", "8.5", "99999999999999999999", "8:16:xnan", "8:16:xinf"})
    EXPECT_THAT(ParseSizes("--cin", bad).status().message(), HasSubstr("--cin")) << bad;
}

TEST(Sweep, ListsCombinations) {
  const SweepNetwork conv, depthwise{.op = "depthwise"};
  EXPECT_THAT(*ListPoints(conv, {{{1, 2}, {3}, {8}, {1, 3}, {1}}}), SizeIs(4));
  const auto points = ListPoints(depthwise, {{{4, 8}, {3, 5}, {8}, {3}, {1}}});
  ASSERT_THAT(*points, SizeIs(2));
  EXPECT_EQ((*points)[1][1], 8);
  const std::vector<int64_t> many(1000, 1);
  EXPECT_FALSE(ListPoints(conv, {{many, many, {8}, {3}, {1}}}).ok());
}

TEST(Sweep, MakesNetworksOfAPoint) {
  for (const char* op : {"conv", "depthwise"}) {
    for (const char* type : {"f32", "int8"}) {
      const SweepNetwork network{.op = op, .type = type};
      auto graph = PointGraph(network, {4, 4, 7, 4, 2});
      ASSERT_TRUE(graph.ok());
      const DType input = graph->value(graph->inputs[0]).dtype;
      const auto model = runtime::Model::FromGraph(*std::move(graph), "point");
      ASSERT_TRUE(model.ok()) << model.status().message();
      const auto session = runtime::Session::Create(*model, {.threads = 1});
      const auto x = Tensor::Create(input, Shape{1, 4, 7, 7});
      runtime::TensorMap outputs;
      ASSERT_TRUE((*session)->Run({{"x", *x}}, &outputs).ok());
      EXPECT_EQ(outputs.at("y").shape(), (Shape{1, 4, 4, 4})) << op << " " << type;
      EXPECT_EQ(outputs.at("y").dtype(), input);
    }
  }
}

}  // namespace
}  // namespace fettle::tools
