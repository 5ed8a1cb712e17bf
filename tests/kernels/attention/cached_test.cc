// GroupQueryAttention whose new cache is the memory of the past.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "ir/noise.h"
#include "kernels/cpu/simd/targets.h"
#include "ops/attention/byte_rows.h"
#include "ops/op.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuAttentionCached;

namespace {

constexpr int64_t kKeys = 1100, kSize = 64, kHeads = 2;

struct CachedRun {
  Tensor y, keys, values;
};

/// The past of operand `i`.
Tensor PastOf(DType type, const Shape& shape, size_t i) {
  if (type != DType::kI8) return ir::NoiseTensor(type, shape, i, {}).value();
  Tensor bytes = Tensor::Create(type, shape).value();
  const int64_t rows = shape.elements() / shape[3];
  const Tensor floats = ir::NoiseTensor(DType::kF32, Shape{rows, kSize}, i, {}).value();
  for (int64_t n = 0; n < rows; ++n)
    ops::RoundByteRow(floats.as<float>().data() + n * kSize, kSize, bytes.data() + n * shape[3]);
  return bytes;
}

/// A cache of bytes as floats.
Tensor Widened(const Tensor& bytes) {
  Shape shape = bytes.shape();
  const int64_t rows = shape.elements() / shape[3];
  Tensor floats = Tensor::Create(DType::kF32, Shape{shape[0], shape[1], shape[2], kSize}).value();
  for (int64_t i = 0; i < rows * kSize; ++i) {
    const std::byte* row = bytes.data() + i / kSize * shape[3];
    floats.as<float>()[i] =
        ops::StepOf(row, kSize) * static_cast<float>(static_cast<int8_t>(row[i % kSize]));
  }
  return floats;
}

/// `length` new keys behind `last` + 1 - `length` ones; `in_place`: written into the past. `given`:
/// what a run with bytes has made, for operands of floats.
CachedRun RunCached(const std::string& type, int64_t length, int32_t last, bool in_place,
                    const CachedRun* given = nullptr) {
  const bool in_bytes = type == "i8";
  const std::string cache =
      fmt::format("{}[1x{}x{}x{}]", type, kHeads, kKeys, kSize + (in_bytes ? ops::kStepBytes : 0));
  ir::Graph graph =
      ops::Parse(fmt::format("input %q: {0}[1x{1}x{2}]\ninput %k: {0}[1x{1}x{3}]\n"
                             "input %v: {0}[1x{1}x{3}]\ninput %pk: {4}\ninput %pv: {4}\n"
                             "input %n: i32[1]\nconst %t: i32[] = {5}\n%y, %nk, %nv = "
                             "GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
                             "{{kv_num_heads={6}, num_heads={7}}}\noutput %y\noutput %nk\n"
                             "output %nv\n",
                             in_bytes ? "f32" : type, length, 3 * kHeads * kSize, kHeads * kSize,
                             cache, kKeys, kHeads, 3 * kHeads))
          .value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const auto group = std::make_shared<const ir::Graph>(graph);
  const CpuDevice& device = TestDevice(3);
  // The first candidate keeps the cache as it is; others are floats, which tests of types make.
  const StateAssignment states = CandidatesOf(kCpuAttentionCached, *group, device).value()[0];
  const auto prepared =
      PrepareKernel(kCpuAttentionCached, Problem{group, states, 3}, {}, device).value();
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < 5; ++i) {
    const ir::Value& value = group->value(group->inputs[i]);
    tensors.push_back(
        i > 2 ? PastOf(states.inputs[i].storage, *value.shape, i + 1)
              : ir::NoiseTensor(states.inputs[i].storage, *value.shape, i + 1, {}).value());
  }
  for (size_t i : {1, 2}) {
    if (given == nullptr) break;
    const Tensor all = Widened(i == 1 ? given->keys : given->values);
    // New rows lie by position, then by head.
    for (int64_t at = 0; at < length * kHeads * kSize; ++at) {
      const int64_t n = at / (kHeads * kSize), head = at / kSize % kHeads;
      tensors[i].as<float>()[at] =
          all.as<float>()[(head * kKeys + last + 1 - length + n) * kSize + at % kSize];
    }
    tensors[i + 2] = all;
  }
  tensors.push_back(Tensor::FromVector(Shape{1}, std::vector<int32_t>{last}).value());
  CachedRun run;
  run.y = Tensor::Create(states.outputs[0].storage, *group->value(group->outputs[0]).shape).value();
  for (size_t i : {0, 1}) {
    Tensor& to = i == 0 ? run.keys : run.values;
    to = in_place ? tensors[3 + i] : Tensor::Create(tensors[3].dtype(), tensors[3].shape()).value();
  }
  std::vector<Location> inputs, packed;
  for (Tensor& tensor : tensors) inputs.push_back({.base = tensor.data()});
  const Location outputs[] = {
      {.base = run.y.data()}, {.base = run.keys.data()}, {.base = run.values.data()}};
  std::vector<std::shared_ptr<std::byte>> memory = {
      AllocateHost(prepared->workspace_bytes()).value()};
  for (const PackRequest& request : prepared->packs()) {
    memory.push_back(AllocateHost(request.bytes).value());
    const Constant* constant = group->value(request.constants[0]).constant.get();
    EXPECT_TRUE(request.pack(std::span(&constant, 1), memory.back().get()).ok());
    packed.push_back({.base = memory.back().get()});
  }
  const std::unique_ptr<Stream> stream = device.NewStream({}).value();
  EXPECT_TRUE(prepared->Launch({inputs, outputs, packed, {.base = memory[0].get()}, *stream}).ok());
  return run;
}

TEST(CachedAttention, WritesNewKeysAloneWhereTheCacheIsThePast) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const std::string type : {"f32", "f16", "i8"}) {
      for (const auto& [length, last] :
           {std::pair(1, 0), {1, 700}, {1, 1099}, {4, 90}, {70, 999}}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", target, type, length, last));
        const CachedRun apart = RunCached(type, length, last, false);
        const CachedRun in_place = RunCached(type, length, last, true);
        EXPECT_EQ(std::memcmp(apart.y.data(), in_place.y.data(), apart.y.bytes().size()), 0);
        const Tensor past = PastOf(apart.keys.dtype(), apart.keys.shape(), 4);
        const size_t row = apart.keys.bytes().size() / (kHeads * kKeys);
        for (int64_t i = 0; i < kHeads * kKeys; ++i) {
          // Those behind the new ones stay what they were.
          const Tensor& from = i % kKeys > last ? past : apart.keys;
          ASSERT_EQ(std::memcmp(from.data() + i * row, in_place.keys.data() + i * row, row), 0)
              << i;
        }
      }
    }
  }
  ForceSimdTarget("");
}

TEST(CachedAttention, BytesCountAsTheirSteps) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const auto& [length, last] : {std::pair(1, 0), {1, 700}, {4, 90}, {70, 999}}) {
      SCOPED_TRACE(fmt::format("{} {} {}", target, length, last));
      const CachedRun bytes = RunCached("i8", length, last, true);
      const CachedRun floats = RunCached("f32", length, last, true, &bytes);
      for (int64_t i = 0; i < bytes.y.shape().elements(); ++i)
        ASSERT_NEAR(bytes.y.as<float>()[i], floats.y.as<float>()[i], 2e-5) << i;
    }
  }
  ForceSimdTarget("");
}

TEST(CachedAttention, RowsOfBytesAreTheNearest) {
  std::byte row[4 + ops::kStepBytes];
  const auto rounded = [&](std::initializer_list<float> x) {
    ops::RoundByteRow(x.begin(), 4, row);
    std::vector<float> y;
    for (size_t i = 0; i < 4; ++i)
      y.push_back(ops::StepOf(row, 4) * static_cast<float>(static_cast<int8_t>(row[i])));
    return y;
  };
  const std::vector<float> y = rounded({-254, 3.1F, 0.9F, 127});
  EXPECT_EQ(y, (std::vector<float>{-254, 4, 0, 128}));
  EXPECT_EQ(rounded({0, 0, -0.0F, 1e-38F}), (std::vector<float>{0, 0, 0, 0}));
  for (const float odd : {HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
    for (const float value : rounded({1, odd, 2, 3})) EXPECT_TRUE(std::isnan(value));
  }
}

}  // namespace
}  // namespace fettle::kernels
