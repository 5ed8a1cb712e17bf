// cpu.block_product.rows: products of one input, with the normalisation that makes it.
#include <fmt/format.h>

#include <cstring>

#include "kernels/cpu/simd/targets.h"
#include "tensor/block_source.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBlockProductRows;

namespace {

struct BlockMatrix {
  int64_t columns = 0;
  int bits = 4;
  std::string_view scales = "f16";
  int most = 255;  // of codes of 8 bits
};

/// Products of `rows` rows of 160, normalised before where `norm` says so.
std::string Siblings(int64_t rows, bool norm, std::initializer_list<BlockMatrix> matrices) {
  std::string text =
      fmt::format("input %x: f32[1x{}x160]\nconst %g: f32[160] = noise(0.5, 1.5)\n", rows);
  std::string nodes = norm ? "%a = RMSNormalization(%x, %g) {axis=-1, epsilon=0.01}\n" : "";
  std::string outputs;
  for (const BlockMatrix& m : matrices) {
    const size_t i = outputs.size();
    text += fmt::format(
        "const %w{0}: u{1}[{2}x160] = noise(0, {3})\nconst %s{0}: {4}[{2}x5] = noise(0.01, 0.1)\n"
        "const %m{0}: {4}[{2}x5] = noise(-1, 0.1)\n",
        i, m.bits, m.columns, m.bits == 4 ? 15 : m.most, m.scales);
    nodes += fmt::format("%y{0} = BlockMatMul(%{1}, %w{0}, %s{0}, %m{0})\n", i, norm ? "a" : "x");
    outputs += fmt::format("output %y{}\n", i);
  }
  return text + nodes + outputs;
}

/// A step of a row's bytes, where the normalisation differs from the oracle's in its last digit.
constexpr Tolerance kOneByte = {.atol = 0.2, .rtol = 1e-4};

TEST(BlockProduct, SiblingsOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const int64_t rows : {1, 3, 9, 70}) {
      for (const bool norm : {false, true}) {
        CheckKernel(kCpuBlockProductRows, Siblings(rows, norm, {{64}, {9}, {37}}), kOneByte);
        CheckKernel(kCpuBlockProductRows, Siblings(rows, norm, {{1, 8}, {200, 4, "f32"}}),
                    kOneByte);
      }
      CheckKernel(kCpuBlockProductRows, Siblings(rows, true, {{33, 8, "f32"}}), kOneByte);
      // The greatest codes whose sums of eight fit 16 bits, and those behind them.
      for (const int most : {31, 32, 63, 255})
        CheckKernel(kCpuBlockProductRows, Siblings(rows, false, {{40, 8, "f16", most}}), kOneByte);
    }
  }
  ForceSimdTarget("");
}

/// A constant whose codes are known to have `bits`, or one that is known to be `times` the scales.
class KnownBlocks final : public ConstantSource, public BlockSource {
 public:
  KnownBlocks(Constant from, int bits, float times)
      : from_(std::move(from)), bits_(bits), times_(times) {}
  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    from_.CopyTo(begin, count, out);
    for (int64_t i = 0; i < count && times_ != 0; ++i) {
      if (from_.dtype() == DType::kF16) {
        Half half;
        std::memcpy(&half, out + i * 2, 2);
        half = Half(static_cast<float>(half) * times_);
        std::memcpy(out + i * 2, &half, 2);
      } else {
        float x = 0;
        std::memcpy(&x, out + i * 4, 4);
        x *= times_;
        std::memcpy(out + i * 4, &x, 4);
      }
    }
  }
  uint64_t Hash() const override {
    return from_.Hash() + static_cast<uint64_t>(bits_) + (times_ != 0 ? 99 : 0);
  }
  std::span<const std::byte> raw_bytes() const override { return from_.raw_bytes(); }
  int code_bits() const override { return bits_; }
  float times_scale() const override { return times_; }

 private:
  Constant from_;
  int bits_;
  float times_;
};

/// Whole numbers from `least` on times steps, each shared by `each` of them.
class NumbersOfSteps final : public ConstantSource, public BlockSource {
 public:
  NumbersOfSteps(int64_t each, int least) : each_(each), least_(least) {}
  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    for (int64_t i = begin; i < begin + count; ++i, out += 4) {
      const float x = static_cast<float>(Step(i / each_)) * static_cast<float>(Number(i));
      std::memcpy(out, &x, 4);
    }
  }
  uint64_t Hash() const override { return static_cast<uint64_t>(each_ * 1000 + least_); }
  std::span<const std::byte> raw_bytes() const override { return {}; }
  int code_bits() const override { return 0; }
  float times_scale() const override { return 0; }
  int64_t numbers_of_step() const override { return each_; }
  void CopySteps(int64_t begin, int64_t count, Half* steps, int8_t* numbers) const override {
    for (int64_t i = begin; i < begin + count; ++i) *steps++ = Step(i);
    for (int64_t i = begin * each_; i < (begin + count) * each_; ++i) *numbers++ = Number(i);
  }

 private:
  static Half Step(int64_t i) { return Half(1e-3F + 1e-4F * static_cast<float>(i * 7 % 13)); }
  int8_t Number(int64_t i) const { return static_cast<int8_t>(least_ + i * 37 % 64); }

  int64_t each_;
  int least_;
};

struct Blocks {
  int bits, block;
  std::string_view scales = "f16";
  float times = 0;    // the minima are so many scales; 0: noise
  int64_t steps = 0;  // blocks that share a step; 0: scales are noise
};

std::shared_ptr<const Constant> Known(const Constant& from, int bits, float times) {
  return std::make_shared<const Constant>(Constant::Generated(
      from.dtype(), from.shape(), std::make_shared<KnownBlocks>(from, bits, times)));
}

CaseGroup MakeProduct(const Blocks& form, int64_t rows, int64_t n, int64_t k) {
  const std::string text = fmt::format(
      "input %x: f32[{0}x{1}]\nconst %w: {2}[{3}x{1}] = noise(0, {4})\n"
      "const %s: {5}[{3}x{6}] = noise(0.01, 0.1)\nconst %m: {5}[{3}x{6}] = noise(-1, 0.1)\n"
      "%y = BlockMatMul(%x, %w, %s, %m) {{block_size={7}}}\noutput %y\n",
      rows, k, form.bits == 4 ? "u4" : "u8", n, (1 << form.bits) - 1, form.scales, k / form.block,
      form.block);
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const auto inputs = graph.nodes()[0].inputs;
  ir::Value &codes = graph.value(inputs[1]), &minima = graph.value(inputs[3]);
  codes.constant = Known(*codes.constant, form.bits, 0);
  for (const size_t i : {2, 3}) {  // scales of both signs
    auto source = std::make_shared<NumbersOfSteps>(form.steps, i == 2 ? -20 : -63);
    ir::Value& value = graph.value(inputs[i]);
    if (form.steps > 0)
      value.constant = std::make_shared<const Constant>(
          Constant::Generated(DType::kF32, value.constant->shape(), std::move(source)));
  }
  if (form.times != 0) minima.constant = Known(*graph.value(inputs[2]).constant, 0, form.times);
  const std::vector<Tensor> x = ir::NoiseInputs(graph, 1, {}).value();
  return MakeGroup(EvaluateGraph(std::move(graph), x).value(), 0, 1);
}

TEST(BlockProduct, KnownBlocksOnEveryInstructionSet) {
  const CpuDevice& device = TestDevice(3);
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const Blocks& form :
         {Blocks{5, 32}, Blocks{5, 32, "f16", -16}, Blocks{5, 32, "f32"}, Blocks{6, 16, "f32", -32},
          Blocks{6, 32}, Blocks{8, 32, "f16", -128}, Blocks{4, 32, "f16", -8},
          Blocks{4, 16, "f32", -4}, Blocks{4, 32, "f32", 0, 3}, Blocks{5, 32, "f32", 0, 6},
          Blocks{6, 16, "f32", -32, 6}, Blocks{4, 16, "f32", -4, 12}, Blocks{8, 32, "f32", 0, 2},
          Blocks{4, 16, "f32", 0, 4}}) {
      for (const int64_t rows : {1, 2, 4, 7, 8, 9, 70}) {
        const CaseGroup group = MakeProduct(form, rows, 41, 192);
        const auto candidates = CandidatesOf(kCpuBlockProductRows, *group.graph, device);
        ASSERT_TRUE(candidates.ok()) << candidates.status().message();
        const Problem problem{group.graph, (*candidates)[0], 3};
        EXPECT_TRUE(CheckRun({kCpuBlockProductRows, group, problem, {}, "", kOneByte}, device))
            << form.bits << " " << form.block << " " << form.steps << " " << rows;
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
