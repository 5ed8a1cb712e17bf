// What verification makes of long sums: right in any order, wrong where one term is.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "ops/op.h"
#include "tuner/measure/expectation.h"
#include "tuner/measure/measure.h"

namespace fettle::tuner {
namespace {

/// How a kernel adds up the terms of a product of one row.
struct Order {
  int64_t lanes = 1;      // sums side by side, of every so many-th term, added up at the end
  int64_t blocks = 1;     // one behind the other, each with its lanes
  int64_t backwards = 0;  // 1: from the last term on
  int64_t drops = -1;     // a term that is left out
  int64_t repeats = -1;   // an input that is read in place of the next one
  int64_t shifts = -1;    // a weight that is read in place of the next one
};
inline constexpr kernels::Fields kOrderFields("", kernels::Field{"lanes", &Order::lanes, {}},
                                              kernels::Field{"blocks", &Order::blocks, {}},
                                              kernels::Field{"backwards", &Order::backwards, {}},
                                              kernels::Field{"drops", &Order::drops, {}},
                                              kernels::Field{"repeats", &Order::repeats, {}},
                                              kernels::Field{"shifts", &Order::shifts, {}});

/// Row by row: one for each output.
struct Weights {
  std::vector<float> values;
  int64_t length = 0;
};

class OrderedSums final : public kernels::PreparedKernel {
 public:
  OrderedSums(const Weights& weights, const Order& order) : weights_(weights), order_(order) {}

  Status Launch(const kernels::LaunchArgs& args) const override {
    const auto* x = args.inputs[0].host<float>();
    auto* y = args.outputs[0].host<float>();
    const int64_t rows = std::ssize(weights_.values) / weights_.length;
    for (int64_t row = 0; row < rows; ++row) {
      const float* w = weights_.values.data() + row * weights_.length;
      const int64_t step = weights_.length / order_.blocks;
      float sum = 0;
      for (int64_t begin = 0; begin < weights_.length; begin += step)
        sum += SumOf(x, w, begin, std::min(begin + step, weights_.length));
      y[row] = sum;
    }
    return OkStatus();
  }

 private:
  float SumOf(const float* x, const float* w, int64_t begin, int64_t end) const {
    std::vector<float> lanes(static_cast<size_t>(order_.lanes));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t k = order_.backwards != 0 ? weights_.length - 1 - i : i;
      if (k == order_.drops) continue;
      const int64_t of_x = k == order_.repeats + 1 && order_.repeats >= 0 ? k - 1 : k;
      const int64_t of_w = k == order_.shifts + 1 && order_.shifts >= 0 ? k - 1 : k;
      float& lane = lanes[static_cast<size_t>(i % order_.lanes)];
      lane = std::fma(x[of_x], w[of_w], lane);
    }
    float sum = 0;
    for (float lane : lanes) sum += lane;
    return sum;
  }

  Weights weights_;
  Order order_;
};

inline constexpr kernels::Family<Weights> kOrderedSums{
    .read = [](const ir::Graph& group, const Device&) -> Result<Weights> {
      const ir::Value& value = group.value(group.nodes()[0].inputs[1]);
      Weights weights{{}, (*value.shape)[1]};
      for (int64_t i = 0; i < value.shape->elements(); ++i)
        weights.values.push_back(static_cast<float>(value.constant->GetDouble(i)));
      return weights;
    },
    .states = kernels::RowMajorAlone,
    .prepare = [](const kernels::Problem&, const Weights& weights, const kernels::Params& params,
                  const Device&) -> Result<std::unique_ptr<kernels::PreparedKernel>> {
      return std::unique_ptr<kernels::PreparedKernel>(
          new OrderedSums(weights, kOrderFields.Read(params)));
    },
    .params = [](const kernels::Problem&, const Weights&, const Device&) -> kernels::ParamSpace {
      return {.tunables = {}, .usual = kOrderFields.Write({}), .check = {}};
    }};

class SumsTest : public testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  SumsTest() {
    ir::Graph graph = ops::Parse(fmt::format("input %x: f32[1x{0}]\nconst %w: f32[3x{0}] = {1}\n"
                                             "%y = Gemm(%x, %w) {{transB=1}}\noutput %y\n",
                                             length(), std::get<1>(GetParam())))
                          .value();
    FETTLE_CHECK(ops::InferGraph(graph).ok(), "shapes are given");
    group_ = std::make_shared<const ir::Graph>(std::move(graph));
  }

  static int length() { return std::get<0>(GetParam()); }

  Row Measure(const Order& order) {
    static const kernels::KernelDesc desc = {.name = "cpu.test.sums",
                                             .match = kernels::MatchAs<kOrderedSums>};
    return bench_.Run(
        {&desc, {group_, kernels::RowMajorStates(*group_), 1}, kOrderFields.Write(order)});
  }

  CpuDevice device_{std::make_shared<ThreadPool>(1)};
  Bench bench_{device_,
               {.warm_ups = 0, .min_samples = 1, .min_ms = 0, .precision = 1, .max_ms = 1e-3}};
  std::shared_ptr<const ir::Graph> group_;
};

TEST_P(SumsTest, OfAnyOrderAreRight) {
  for (int64_t backwards : {0, 1}) {
    for (int64_t blocks : {1, 3, 16}) {
      for (int64_t lanes : {1, 2, 3, 4, 8, 16, 64}) {
        const Row row = Measure({.lanes = lanes, .blocks = blocks, .backwards = backwards});
        EXPECT_EQ(row.status, Row::Status::kOk)
            << lanes << " lanes, " << blocks << " blocks: " << row.reason;
      }
    }
  }
}

TEST_P(SumsTest, WithOneTermWrongAreWrong) {
  for (int64_t term : {0, 1, length() / 2, length() - 2}) {
    EXPECT_EQ(Measure({.drops = term}).status, Row::Status::kWrong) << term;
    EXPECT_EQ(Measure({.lanes = 16, .drops = term + 1}).status, Row::Status::kWrong) << term;
    EXPECT_EQ(Measure({.repeats = term}).status, Row::Status::kWrong) << term;
  }
}

TEST_P(SumsTest, WithOneOtherWeightAreWrong) {
  const std::string_view weights = std::get<1>(GetParam());
  if (weights == "noise(0.009, 0.011)") return;  // neighbours may be nearly alike
  const bool are_alike = weights.starts_with("splat");
  for (int64_t term : {0, 1, length() / 2, length() - 2})
    EXPECT_EQ(Measure({.shifts = term}).status, are_alike ? Row::Status::kOk : Row::Status::kWrong)
        << term;
}

TEST_P(SumsTest, EachSetOfInputsShowsATermThatIsLeftOut) {
  const auto made = GroupExpectations::Make(group_, {}, device_.pool()).value();
  ASSERT_EQ(made->sets().size(), 3U);
  for (const Expectation& set : made->sets()) {
    const auto x = set.inputs[0].as<float>();
    const ir::Value& w = group_->value(group_->nodes()[0].inputs[1]);
    const Tolerance& tolerance = set.outputs[0].tolerance;
    int64_t shown = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      const double lost = x[k] * w.constant->GetDouble(static_cast<int64_t>(k));
      shown += std::fabs(lost) > tolerance.atol + tolerance.rtol * set.outputs[0].largest;
    }
    EXPECT_GT(shown, length() / 2) << set.inputs_name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SumsTest,
                         testing::Combine(testing::Values(64, 512, 4096, 25088),
                                          testing::Values("splat 0.01", "splat -3.0",
                                                          "noise(-0.01, 0.01)",
                                                          "noise(0.009, 0.011)")));

}  // namespace
}  // namespace fettle::tuner
