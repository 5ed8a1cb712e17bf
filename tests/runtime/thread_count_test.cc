// Before tuning, a result is the same bit for bit for any number of threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ops/op.h"
#include "runtime/session.h"

namespace fettle::runtime {
namespace {

struct ThreadCountCase {
  const char* name;
  const char* graph;
};

class ThreadCountTest : public testing::TestWithParam<ThreadCountCase> {};

std::vector<std::byte> RunOnThreads(const std::shared_ptr<const Model>& model,
                                    const TensorMap& inputs, int threads) {
  const auto session = Session::Create(model, {.threads = threads}).value();
  TensorMap outputs;
  const Status status = session->Run(inputs, &outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  const auto bytes = outputs.begin()->second.bytes();
  return {bytes.begin(), bytes.end()};
}

TEST_P(ThreadCountTest, GivesTheSameBits) {
  const auto model = Model::FromGraph(ops::Parse(GetParam().graph).value(), "model").value();
  TensorMap inputs;
  for (ir::ValueId id : model->graph().inputs) {
    const ir::Value& input = model->graph().value(id);
    std::vector<float> values(static_cast<size_t>(input.shape->elements()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i * 2654435761u % 1000) * 1e-3f - 0.5f;
    inputs.emplace(input.name, Tensor::FromVector(*input.shape, values).value());
  }
  const std::vector<std::byte> one = RunOnThreads(model, inputs, 1);
  for (const int threads : {2, 3, 5, 8}) {
    const std::vector<std::byte> many = RunOnThreads(model, inputs, threads);
    ASSERT_EQ(many.size(), one.size());
    EXPECT_EQ(std::memcmp(many.data(), one.data(), one.size()), 0) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Runtime, ThreadCountTest,
    testing::Values(
        ThreadCountCase{"Winograd",
                        "input %x: f32[1x32x62x62]\nconst %w: f32[32x32x3x3] = noise(-1, 1)\n"
                        "%y = Conv(%x, %w) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]}\noutput %y\n"},
        ThreadCountCase{"Convolution",
                        "input %x: f32[1x19x33x31]\nconst %w: f32[21x19x5x3] = noise(-1, 1)\n"
                        "%y = Conv(%x, %w) {kernel_shape=[5, 3], strides=[2, 1]}\noutput %y\n"},
        ThreadCountCase{"Pointwise",
                        "input %x: f32[1x37x29x31]\nconst %w: f32[45x37x1x1] = noise(-1, 1)\n"
                        "%a = Conv(%x, %w) {kernel_shape=[1, 1]}\n%y = Sigmoid(%a)\noutput %y\n"},
        ThreadCountCase{
            "Transposed",
            "input %x: f32[1x18x23x21]\nconst %w: f32[18x17x4x4] = noise(-1, 1)\n"
            "%y = ConvTranspose(%x, %w) {kernel_shape=[4, 4], strides=[2, 2]}\noutput %y\n"},
        ThreadCountCase{"Product",
                        "input %x: f32[3x61x300]\nconst %w: f32[300x77] = noise(-1, 1)\n"
                        "%y = MatMul(%x, %w)\noutput %y\n"},
        ThreadCountCase{"Rows",
                        "input %x: f32[7x5000]\n%a = Softmax(%x) {axis=-1}\n"
                        "%y = ReduceSum(%a) {keepdims=1}\noutput %y\n"},
        ThreadCountCase{"Pool",
                        "input %x: f32[1x35x40x40]\n%a = AveragePool(%x) {kernel_shape=[3, 3]}\n"
                        "%y = GlobalAveragePool(%a)\noutput %y\n"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fettle::runtime
