// cpu.block_product.experts and cpu.half_weights.experts: rows times the matrices that they choose.
#include <fmt/format.h>

#include "base/hash.h"
#include "kernels/cpu/simd/targets.h"
#include "tensor/sixteen_bits.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/quantised/known_blocks.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBlockProductExperts, kCpuHalfWeightsExperts;

namespace {

constexpr Tolerance kNearBytes = {.atol = 0.02, .rtol = 1e-4};

/// Rows of 192 with three choices of five experts; every other form adds its results up, and every
/// third has a row for each choice.
std::string ExpertText(int64_t rows, int variant, std::string_view weights,
                       std::string_view operands, std::string_view attributes) {
  const bool sums = variant % 2 == 1, own = variant % 3 == 2;
  return fmt::format(
      "input %x: f32[{0}{1}x192]\ninput %c: i64[{0}x3]\n{2}{3}"
      "%y = ExpertMatMul(%x, %w, %c, {4}{5}){6}\noutput %y\n",
      rows, own ? "x3" : "", sums ? fmt::format("input %by: f32[{}x3]\n", rows) : "", weights,
      operands, sums ? ", %by" : "", attributes);
}

CaseGroup Evaluated(ir::Graph graph) {
  const std::vector<Tensor> inputs =
      ir::NoiseInputs(graph, 1, {{"c", {.low = 0, .high = 4}}}).value();
  return MakeGroup(EvaluateGraph(std::move(graph), inputs).value(), 0, 1);
}

void Check(const KernelDesc& kernel, const CaseGroup& group, const std::string& what) {
  const CpuDevice& device = TestDevice(3);
  const auto candidates = CandidatesOf(kernel, *group.graph, device);
  ASSERT_TRUE(candidates.ok()) << candidates.status().message();
  const Problem problem{group.graph, (*candidates)[0], 3};
  EXPECT_TRUE(CheckRun({kernel, group, problem, {}, "", kNearBytes}, device)) << what;
}

TEST(ExpertProduct, KnownBlocksOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    int variant = 0;
    for (const Blocks& form : kBlockForms) {
      for (const int64_t rows : {1, 4, 30}) {
        const std::string weights = fmt::format(
            "const %w: {0}[5x41x192] = noise(0, {1})\nconst %s: {2}[5x41x{3}] = noise(0.01, 0.1)\n"
            "const %m: {2}[5x41x{3}] = noise(-1, 0.1)\n",
            form.bits == 4 ? "u4" : "u8", (1 << form.bits) - 1, form.scales, 192 / form.block);
        ir::Graph graph = ops::Parse(ExpertText(rows, variant++, weights, "%s, %m",
                                                fmt::format(" {{block_size={}}}", form.block)))
                              .value();
        ASSERT_TRUE(ops::InferGraph(graph).ok());
        const auto inputs = graph.nodes()[0].inputs;
        MakeKnown(form, graph, {inputs[1], inputs[3], inputs[4]});
        Check(kCpuBlockProductExperts, Evaluated(std::move(graph)),
              fmt::format("{} bits of {}, {} rows", form.bits, form.block, rows));
      }
    }
  }
  ForceSimdTarget("");
}

/// Floats whose upper halves are bf16, as they lie in a file.
class StoredRows final : public ConstantSource, public SixteenBitSource {
 public:
  explicit StoredRows(const Tensor& floats) {
    for (const float x : floats.as<float>()) bits_.push_back(BFloat16(x).bits);
  }
  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    for (int64_t i = begin; i < begin + count; ++i, out += 4) {
      const uint32_t wide = uint32_t{bits_[i]} << 16;
      std::memcpy(out, &wide, 4);
    }
  }
  uint64_t Hash() const override { return HashBytes(raw_bytes()); }
  std::span<const std::byte> raw_bytes() const override { return std::as_bytes(std::span(bits_)); }
  DType stored_type() const override { return DType::kBF16; }
  bool lies_by_columns() const override { return false; }

 private:
  std::vector<uint16_t> bits_;
};

TEST(ExpertProduct, FloatsOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (int variant = 0; variant < 6; ++variant) {
      for (const bool stored : {false, true}) {
        for (const int64_t rows : {1, 4, 30}) {
          ir::Graph graph =
              ops::Parse(ExpertText(rows, variant, "const %w: f32[5x41x192]\n", "_, _", ""))
                  .value();
          ASSERT_TRUE(ops::InferGraph(graph).ok());
          ir::Value& weights = graph.value(graph.nodes()[0].inputs[1]);
          const Tensor floats = weights.constant->ToTensor().value();
          if (stored)
            weights.constant = std::make_shared<const Constant>(Constant::Generated(
                DType::kF32, *weights.shape, std::make_shared<StoredRows>(floats)));
          Check(kCpuHalfWeightsExperts, Evaluated(std::move(graph)),
                fmt::format("variant {}, stored {}, {} rows", variant, stored, rows));
        }
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
