// Indices out of range (docs/operators.md): the CPU refuses them; a device takes the nearest
// element for those that are computed, and leaves constant ones to the CPU.
#include <gtest/gtest.h>

#include "tests/opencl_device.h"
#include "tests/session_of.h"

namespace fettle::runtime {
namespace {

struct Lookup {
  const char* graph;  // of x: f32[4x2] and the indices k
  Shape indices;
  std::vector<int64_t> given, nearest;
};

const Lookup kLookups[] = {
    {"%y = Gather(%x, %k) {axis=0}\noutput %y\n", {3}, {9, -9, 1}, {3, 0, 1}},
    {"%y = GatherElements(%x, %k) {axis=0}\noutput %y\n", {2, 2}, {0, 4, -5, 2}, {0, 3, 0, 2}},
    {"%y = GatherND(%x, %k)\noutput %y\n", {2, 2}, {3, 2, -5, 0}, {3, 1, 0, 0}},
};

class IndicesOnADevice : public testing::TestWithParam<Lookup> {
 protected:
  static Result<std::vector<float>> Run(const std::string& text, SessionOptions options,
                                        TensorMap inputs) {
    inputs["x"] = Tensor::FromVector<float>({4, 2}, {0, 1, 10, 11, 20, 21, 30, 31}).value();
    TensorMap results;
    RETURN_IF_ERROR(SessionOf(text, std::move(options))->Run(inputs, &results));
    const std::span<const float> values = results.at("y").as<float>();
    return std::vector<float>(values.begin(), values.end());
  }
  static TensorMap Indices(const std::vector<int64_t>& values) {
    return {{"k", Tensor::FromVector<int64_t>(GetParam().indices, values).value()}};
  }
  static std::string Computed() {
    return fmt::format("input %x: f32[4x2]\ninput %k: i64[{}]\n{}", GetParam().indices.ToString(),
                       GetParam().graph);
  }
};

TEST_P(IndicesOnADevice, TheCpuRefusesAndADeviceTakesTheNearest) {
  const auto refused = Run(Computed(), {.threads = 1}, Indices(GetParam().given));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("is out of range for an axis of"), std::string::npos)
      << refused.status().message();
  if (!TestOpenClDevice().ok()) GTEST_SKIP() << "no OpenCL device";
  const SessionOptions device{
      .threads = 1, .accelerators = {*TestOpenClDevice()}, .accelerator_only = true};
  const auto want = Run(Computed(), {.threads = 1}, Indices(GetParam().nearest));
  const auto got = Run(Computed(), device, Indices(GetParam().given));
  ASSERT_TRUE(want.ok()) << want.status().message();
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(*got, *want);
}

TEST_P(IndicesOnADevice, ConstantOnesAreRefused) {
  if (!TestOpenClDevice().ok()) GTEST_SKIP() << "no OpenCL device";
  std::string text =
      fmt::format("input %x: f32[4x2]\nconst %k: i64[{}] =", GetParam().indices.ToString());
  for (const int64_t index : GetParam().given) text += fmt::format(" {}", index);
  const auto refused = Run(text + "\n" + GetParam().graph,
                           {.threads = 1, .accelerators = {*TestOpenClDevice()}}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("is out of range for an axis of"), std::string::npos)
      << refused.status().message();
}

INSTANTIATE_TEST_SUITE_P(All, IndicesOnADevice, testing::ValuesIn(kLookups));

}  // namespace
}  // namespace fettle::runtime
