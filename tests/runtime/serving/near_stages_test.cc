// Shapes near one that was planned take its kernels: they are not planned again, and compute what a
// fresh session computes.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "ir/noise.h"
#include "ops/op.h"
#include "planner/carried_plans.h"
#include "runtime/session.h"

namespace fettle::runtime {
namespace {

std::shared_ptr<const Model> LoadNet(std::string_view text) {
  Result<ir::Graph> graph = ops::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return Model::FromGraph(std::move(graph).value(), "model").value();
}

/// Those of a session, counted.
class CountedPlans final : public planner::PlanSource {
 public:
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    ++plans;
    return carried_->PlanFor(segment, devices, limits);
  }
  bool CarriesOver(const DeviceSet& devices, const planner::Limits& limits) const override {
    return carries && carried_->CarriesOver(devices, limits);
  }

  int plans = 0;
  bool carries = true;

 private:
  std::shared_ptr<planner::PlanSource> carried_ = planner::CarriedPlans();
};

/// A layout of channels last, windows of a Concat, and a resized picture.
constexpr std::string_view kPictureNet =
    "input %x: f32[1x3x?x?]\n"
    "const %w: f32[16x3x3x3] = noise(-1, 1)\n"
    "const %d: f32[16x1x5x5] = noise(-1, 1)\n"
    "const %p: f32[8x16x1x1] = noise(-1, 1)\n"
    "const %q: f32[8x16x3x3] = noise(-1, 1)\n"
    "const %t: f32[16x8x2x2] = noise(-1, 1)\n"
    "const %s: f32[4] = 1 1 2 2\n"
    "%a = Conv(%x, %w) {pads=[1,1,1,1], strides=[2,2]}\n"
    "%b = HardSwish(%a)\n"
    "%c = Conv(%b, %d) {group=16, pads=[2,2,2,2]}\n"
    "%e = Relu(%c)\n"
    "%m = GlobalAveragePool(%e)\n"
    "%n = Mul(%e, %m)\n"
    "%f = Conv(%n, %p)\n"
    "%g = Conv(%n, %q) {pads=[1,1,1,1]}\n"
    "%h = Concat(%f, %g) {axis=1}\n"
    "%i = ConvTranspose(%h, %t) {kernel_shape=[2, 2], strides=[2, 2]}\n"
    "%j = MaxPool(%i) {kernel_shape=[2, 2], strides=[1, 1]}\n"
    "%y = Resize(%j, _, %s) {mode=\"linear\"}\n"
    "output %y\noutput %m\n";

/// Positions cut out of a table by the length of a text, and rows reshaped by numbers that follow
/// from it.
constexpr std::string_view kTextNet =
    "input %x: f32[1x?x16]\n"
    "const %table: f32[600x16] = noise(-1, 1)\n"
    "const %w: f32[16x16] = noise(-1, 1)\n"
    "const %g: f32[16] = noise(0.5, 1)\n"
    "const %z: i64[1] = 0\nconst %k: i64[2] = 4 4\nconst %o: i64[1] = 1\n"
    "const %r: i64[1] = 16\n"
    "%l = Shape(%x) {start=1, end=2}\n"
    "%v = Slice(%table, %z, %l, %z)\n"
    "%a = Add(%x, %v)\n"
    "%b = LayerNormalization(%a, %g)\n"
    "%c = MatMul(%b, %w)\n"
    "%n = Concat(%o, %l, %k) {axis=0}\n"
    "%d = Reshape(%c, %n)\n"
    "%e = Transpose(%d) {perm=[0,2,1,3]}\n"
    "%f = Transpose(%d) {perm=[0,2,3,1]}\n"
    "%h = MatMul(%e, %f)\n"
    "%s = Softmax(%h) {axis=-1}\n"
    "%i = MatMul(%s, %e)\n"
    "%j = Transpose(%i) {perm=[0,2,1,3]}\n"
    "%t = Concat(%o, %l, %r) {axis=0}\n"
    "%y = Reshape(%j, %t)\n"
    "output %y\n";

/// Halves, bytes and a recurrent cell.
constexpr std::string_view kTypeNet =
    "input %x: f32[?x1x8]\n"
    "const %w: f16[8x8] = noise(-1, 1)\n"
    "const %v: f32[1x20x8] = noise(-1, 1)\n"
    "const %r: f32[1x20x5] = noise(-1, 1)\n"
    "const %s: f32[] = 0.02\nconst %z: u8[] = 128\n"
    "%a = Cast(%x) {to=\"f16\"}\n"
    "%b = MatMul(%a, %w)\n"
    "%c = Cast(%b) {to=\"f32\"}\n"
    "%d = QuantizeLinear(%c, %s, %z)\n"
    "%e = DequantizeLinear(%d, %s, %z)\n"
    "%y, %h = LSTM(%e, %v, %r) {hidden_size=5}\n"
    "output %d\noutput %y\noutput %h\n";

/// A cell whose first state follows from the batch: its weights do not.
constexpr std::string_view kStateNet =
    "input %x: f32[3x?x128]\n"
    "const %w: f32[1x512x128] = noise(-0.1, 0.1)\n"
    "const %r: f32[1x512x128] = noise(-0.1, 0.1)\n"
    "const %one: i64[1] = 1\nconst %size: i64[1] = 128\nconst %s: f32[] = 0.5\n"
    "%n = Shape(%x) {start=1, end=2}\n"
    "%f = Concat(%one, %n, %size) {axis=0}\n"
    "%h = Expand(%s, %f)\n"
    "%y = LSTM(%x, %w, %r, _, _, %h, %h) {hidden_size=128}\n"
    "output %y\n";

/// Sums of products that passes make matrix products, some of them of labels that have two extents,
/// and a product whose left operand follows from extents.
constexpr std::string_view kSpeltNet =
    "input %x: f32[1x?x16]\n"
    "const %w: f32[3x16x8] = noise(-1, 1)\n"
    "const %v: f32[8x16] = noise(-1, 1)\n"
    "const %q: f32[400x400] = noise(-1, 1)\n"
    "const %z: i64[2] = 0 0\nconst %axes: i64[2] = 0 1\n"
    "%d = Shape(%x) {start=1, end=2}\n"
    "%f = Concat(%d, %d) {axis=0}\n"
    "%u = Slice(%q, %z, %f, %axes)\n"
    "%e = Einsum(%x, %w) {equation=\"btd,edh->ebth\"}\n"
    "%s = Einsum(%e, %e) {equation=\"ebth,fbsh->tsef\"}\n"
    "%r = ReduceMax(%s, _) {keepdims=0}\n"
    "%a = Einsum(%e, %v) {equation=\"ebth,hd->btd\"}\n"
    "%m = MatMul(%u, %a)\n"
    "%n = ReduceMax(%m, _) {keepdims=0}\n"
    "%l = Add(%a, %r)\n"
    "%y = Add(%l, %n)\n"
    "output %y\n";

/// One query of four heads and as many keys as there are, which two heads share.
constexpr std::string_view kKeysNet =
    "input %x: f32[2x?x16]\n"
    "const %r: i64[1] = 1\n"
    "const %k: f32[16x16] = noise(-1, 1)\n"
    "const %z: i64[1] = 0\nconst %e: i64[2] = 1 2\nconst %t: i64[1] = 2\n"
    "const %f: i64[2] = 1 4\nconst %c: i64[1] = 16\n"
    "%l = Shape(%x) {start=1, end=2}\n"
    "%g = Concat(%e, %t, %l, %c) {axis=0}\n"
    "%h = Concat(%f, %l, %c) {axis=0}\n"
    "%a = MatMul(%x, %k)\n"
    "%b = Unsqueeze(%a, %z)\n%u = Unsqueeze(%b, %t)\n"
    "%d = Expand(%u, %g)\n%i = Reshape(%d, %h)\n"
    "%q = ReduceMax(%x, %r) {keepdims=1}\n"
    "%qq = Concat(%q, %q) {axis=0}\n%m = Unsqueeze(%qq, %z)\n"
    "%v = Unsqueeze(%x, %z)\n%w = Unsqueeze(%v, %t)\n"
    "%j = Expand(%w, %g)\n%n = Reshape(%j, %h)\n"
    "%o = Transpose(%i) {perm=[0,1,3,2]}\n"
    "%p = MatMul(%m, %o)\n"
    "%s = Softmax(%p)\n"
    "%y = MatMul(%s, %n)\n"
    "output %y\n";

TensorMap OpenInputs(const Model& model, int64_t most, std::mt19937_64& random) {
  const ir::Value& input = model.graph().value(model.graph().inputs[0]);
  Shape shape = *input.shape;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] < 0)
      shape[axis] = 4 + static_cast<int64_t>(random() % static_cast<uint64_t>(most - 3));
  return {{input.name, ir::NoiseTensor(DType::kF32, shape, random(), {-1, 1}).value()}};
}

TensorMap RunAt(Session& session, const TensorMap& inputs) {
  TensorMap outputs;
  const Status status = session.Run(inputs, &outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs;
}

void ExpectSameOutputs(const TensorMap& got, const TensorMap& want) {
  for (const auto& [name, tensor] : want) {
    ASSERT_EQ(got.at(name).shape(), tensor.shape());
    for (int64_t e = 0; e < tensor.elements(); ++e) {
      if (tensor.dtype() == DType::kU8) {
        ASSERT_NEAR(got.at(name).as<uint8_t>()[e], tensor.as<uint8_t>()[e], 1) << name;
      } else {
        const float value = tensor.as<float>()[e];
        ASSERT_NEAR(got.at(name).as<float>()[e], value, 2e-3 * (1 + std::abs(value))) << name;
      }
    }
  }
}

class NearStagesTest : public testing::TestWithParam<std::tuple<std::string_view, int>> {
 protected:
  std::shared_ptr<const Model> model_ = LoadNet(std::get<0>(GetParam()));
  int threads_ = std::get<1>(GetParam());
};

TEST_P(NearStagesTest, GiveWhatAFreshSessionGivesInAnyOrder) {
  std::mt19937_64 random(7);
  const auto session = Session::Create(model_, {.threads = threads_}).value();
  std::vector<TensorMap> seen;
  for (int i = 0; i < 60; ++i) {
    if (i % 3 != 2) seen.push_back(OpenInputs(*model_, 60, random));
    const TensorMap& inputs = i % 3 != 2 ? seen.back() : seen[random() % seen.size()];
    const auto fresh = Session::Create(model_, {.threads = 1}).value();
    ExpectSameOutputs(RunAt(*session, inputs), RunAt(*fresh, inputs));
  }
}

TEST_P(NearStagesTest, AreNotPlanned) {
  std::mt19937_64 random(3);
  const auto plans = std::make_shared<CountedPlans>();
  const auto session = Session::Create(model_, {.threads = threads_, .plans = plans}).value();
  const auto run = [&](int64_t extent) {
    Shape shape = *model_->graph().value(model_->graph().inputs[0]).shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape[axis] < 0) shape[axis] = extent;
    RunAt(*session, {{"x", ir::NoiseTensor(DType::kF32, shape, 1, {-1, 1}).value()}});
    return plans->plans;
  };
  const int planned = run(32);
  for (int64_t extent : {33, 34, 36, 40, 45, 50, 37, 31}) EXPECT_EQ(run(extent), planned) << extent;
  // Nor is what is much smaller or larger.
  for (int64_t extent : {6, 200, 190}) EXPECT_EQ(run(extent), planned) << extent;
  plans->carries = false;
  EXPECT_GT(run(35), planned);
}

INSTANTIATE_TEST_SUITE_P(All, NearStagesTest,
                         testing::Combine(testing::Values(kPictureNet, kTextNet, kTypeNet,
                                                          kSpeltNet, kKeysNet, kStateNet),
                                          testing::Values(1, 2)));

constexpr char kConvolvedTwice[] =
    "input %x: f32[1x32x?x?]\nconst %w: f32[32x32x3x3] = noise(-0.1, 0.1)\n"
    "%a = Conv(%x, %w) {pads=[1,1,1,1]}\n"
    "%b = HardSwish(%a)\n"
    "%c = Conv(%b, %w) {pads=[1,1,1,1]}\n"
    "output %c\n";

std::vector<std::string> KernelsOf(const Session& session) {
  std::vector<std::string> kernels;
  for (const exec::StepProfile& step : session.profile())
    if (step.op.starts_with("Conv") && step.op != "Convert") kernels.push_back(step.kernel);
  return kernels;
}

TEST(NearStagesTest, ReadGrowingKeysAsTheyLie) {
  const auto model = LoadNet(kKeysNet);
  const auto session = Session::Create(model, {.threads = 1}).value();
  std::mt19937_64 random(4);
  for (int i = 0; i < 4; ++i) {
    RunAt(*session, OpenInputs(*model, 300, random));
    EXPECT_EQ(
        std::ranges::count(session->profile(), "cpu.attention.few", &exec::StepProfile::kernel), 1);
  }
}

/// What the scalar reference would compute is planned as passes leave it.
TEST(NearStagesTest, HaveNoReferenceThatPassesSpare) {
  const auto session = Session::Create(LoadNet(kSpeltNet), {.threads = 1}).value();
  for (int64_t rows : {20, 21, 40}) {
    RunAt(*session, {{"x", ir::NoiseTensor(DType::kF32, Shape{1, rows, 16}, 1, {-1, 1}).value()}});
    for (const exec::StepProfile& step : session->profile())
      EXPECT_NE(step.kernel, "cpu.reference");
  }
}

/// A kernel that refuses few tiles is replaced alone: its neighbours stay, nothing is planned.
TEST(NearStagesTest, ReplaceAKernelThatRefuses) {
  const std::shared_ptr<const Model> model = LoadNet(kConvolvedTwice);
  const auto plans = std::make_shared<CountedPlans>();
  const auto session = Session::Create(model, {.threads = 1, .plans = plans}).value();
  std::set<std::string> kernels;
  int planned = 0;
  for (int64_t extent : {64, 65, 8, 10, 60, 9}) {
    const TensorMap inputs = {
        {"x", ir::NoiseTensor(DType::kF32, Shape{1, 32, extent, extent}, 1, {-1, 1}).value()}};
    const auto fresh = Session::Create(model, {.threads = 1}).value();
    ExpectSameOutputs(RunAt(*session, inputs), RunAt(*fresh, inputs));
    if (extent > 60) planned = plans->plans;
    EXPECT_EQ(plans->plans, planned) << extent;
    for (const std::string& kernel : KernelsOf(*session)) kernels.insert(kernel);
  }
  EXPECT_GT(kernels.size(), 1U);
}

/// Where much more is computed than was planned for, a kernel that is better there takes over, for
/// as many shapes as there are, and so do more threads.
TEST(NearStagesTest, TakeBetterKernelsWhereMuchMoreIsComputed) {
  const std::shared_ptr<const Model> model = LoadNet(kConvolvedTwice);
  for (const int threads : {1, 2}) {
    const auto plans = std::make_shared<CountedPlans>();
    const auto session = Session::Create(model, {.threads = threads, .plans = plans}).value();
    std::vector<std::string> first;
    for (int64_t extent : {6, 64, 7, 65, 160, 66, 12}) {
      const TensorMap inputs = {
          {"x", ir::NoiseTensor(DType::kF32, Shape{1, 32, extent, extent}, 1, {-1, 1}).value()}};
      const auto fresh = Session::Create(model, {.threads = 1}).value();
      ExpectSameOutputs(RunAt(*session, inputs), RunAt(*fresh, inputs));
      if (first.empty()) first = KernelsOf(*session);
      if (extent > 60) {
        EXPECT_NE(KernelsOf(*session), first) << extent;
        EXPECT_EQ(KernelsOf(*session), KernelsOf(*fresh)) << extent;
      }
    }
    EXPECT_EQ(plans->plans, 1);
  }
}

/// There is no room for the weights twice: a shape that packed them would have to be planned.
TEST(NearStagesTest, PackOnlyWhatFollowsFromExtents) {
  const auto run = [](Session& session, int64_t batch) {
    const Shape shape = {3, batch, 128};
    RunAt(session, {{"x", ir::NoiseTensor(DType::kF32, shape, 1, {-1, 1}).value()}});
  };
  const auto first = Session::Create(LoadNet(kStateNet), {.threads = 1}).value();
  run(*first, 8);
  const int64_t packed = first->memory().packed_bytes;
  EXPECT_GT(packed, 500'000);
  const auto plans = std::make_shared<CountedPlans>();
  SessionOptions options = {.threads = 1, .plans = plans};
  options.max_memory = packed + packed / 2;
  const auto session = Session::Create(LoadNet(kStateNet), options).value();
  for (const int64_t batch : {8, 7, 5, 9, 7, 12}) run(*session, batch);
  EXPECT_EQ(plans->plans, 1);
}

/// Where there are other nodes at other extents, each shape is planned.
TEST(NearStagesTest, ShapesOfOtherGraphsAreTheirOwn) {
  const std::shared_ptr<const Model> model = LoadNet(
      "input %x: f32[?x4]\nconst %o: i64[1] = 12\n"
      "%l = Shape(%x) {start=0, end=1}\n"
      "%c = Less(%l, %o)\n"
      "%b = Cast(%c) {to=\"f32\"}\n"
      "%y = Mul(%x, %b)\n"
      "output %y\n");
  const auto session = Session::Create(model, {.threads = 1}).value();
  for (int64_t rows : {10, 11, 12, 13, 11, 14, 9}) {
    const TensorMap outputs =
        RunAt(*session, {{"x", ir::NoiseTensor(DType::kF32, Shape{rows, 4}, 1, {1, 2}).value()}});
    EXPECT_EQ(outputs.at("y").as<float>()[0] == 0, rows >= 12) << rows;
  }
}

}  // namespace
}  // namespace fettle::runtime
