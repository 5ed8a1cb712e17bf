// GroupQueryAttention whose new cache is the memory of the past.
#include <fmt/format.h>

#include <cstring>

#include "ir/noise.h"
#include "kernels/cpu/simd/targets.h"
#include "ops/op.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuAttentionCached;

namespace {

constexpr int64_t kKeys = 1100, kSize = 16, kHeads = 2;

struct CachedRun {
  Tensor y, keys, values;
};

/// `length` new keys behind `last` + 1 - `length` ones; `in_place`: written into the past.
CachedRun RunCached(const std::string& type, int64_t length, int32_t last, bool in_place) {
  const std::string cache = fmt::format("{}[1x{}x{}x{}]", type, kHeads, kKeys, kSize);
  ir::Graph graph =
      ops::Parse(fmt::format("input %q: {0}[1x{1}x{2}]\ninput %k: {0}[1x{1}x{3}]\n"
                             "input %v: {0}[1x{1}x{3}]\ninput %pk: {4}\ninput %pv: {4}\n"
                             "input %n: i32[1]\nconst %t: i32[] = {5}\n%y, %nk, %nv = "
                             "GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
                             "{{kv_num_heads={6}, num_heads={7}}}\noutput %y\noutput %nk\n"
                             "output %nv\n",
                             type, length, 3 * kHeads * kSize, kHeads * kSize, cache, kKeys, kHeads,
                             3 * kHeads))
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
    tensors.push_back(ir::NoiseTensor(states.inputs[i].storage, *value.shape, i + 1, {}).value());
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
    for (const std::string type : {"f32", "f16"}) {
      for (const auto& [length, last] :
           {std::pair(1, 0), {1, 700}, {1, 1099}, {4, 90}, {70, 999}}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", target, type, length, last));
        const CachedRun apart = RunCached(type, length, last, false);
        const CachedRun in_place = RunCached(type, length, last, true);
        EXPECT_EQ(std::memcmp(apart.y.data(), in_place.y.data(), apart.y.bytes().size()), 0);
        const Tensor past = ir::NoiseTensor(apart.keys.dtype(), apart.keys.shape(), 4, {}).value();
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

}  // namespace
}  // namespace fettle::kernels
