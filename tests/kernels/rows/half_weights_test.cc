// Products by weights that a file has in f16 or bf16: cpu.f16_weights.gemm and
// cpu.half_weights.bf16.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "kernels/cpu/gemm/microkernel.h"
#include "kernels/cpu/half_weights/rows.h"
#include "kernels/cpu/simd/targets.h"
#include "tensor/sixteen_bits.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuF16WeightsGemm, kCpuHalfWeightsBf16;

namespace {

float Widen(DType type, uint16_t bits) {
  if (type == DType::kF16) {
    Half half;
    half.bits = bits;
    return static_cast<float>(half);
  }
  const uint32_t wide = uint32_t{bits} << 16;
  float x = 0;
  std::memcpy(&x, &wide, 4);
  return x;
}

uint16_t Narrow(DType type, float x) {
  return type == DType::kF16 ? Half(x).bits : BFloat16(x).bits;
}

/// A matrix [rows, columns] of f32 whose bytes have it by columns, in 16 bits.
class StoredColumns final : public ConstantSource, public SixteenBitSource {
 public:
  StoredColumns(DType type, const Tensor& floats)
      : type_(type), rows_(floats.shape()[0]), columns_(floats.shape()[1]) {
    for (int64_t column = 0; column < columns_; ++column)
      for (int64_t row = 0; row < rows_; ++row)
        bits_.push_back(Narrow(type, floats.as<float>()[row * columns_ + column]));
  }
  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    for (int64_t i = begin; i < begin + count; ++i, out += 4) {
      const float x = Widen(type_, bits_[i % columns_ * rows_ + i / columns_]);
      std::memcpy(out, &x, 4);
    }
  }
  uint64_t Hash() const override { return HashBytes(raw_bytes()); }
  std::span<const std::byte> raw_bytes() const override { return std::as_bytes(std::span(bits_)); }
  DType stored_type() const override { return type_; }
  bool lies_by_columns() const override { return true; }

 private:
  DType type_;
  int64_t rows_, columns_;
  std::vector<uint16_t> bits_;
};

/// The only constant of `text`, a matrix, becomes one of 16 bits an element.
CaseGroup Store(DType type, std::string_view text) {
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  for (const ir::ValueId id : graph.values().ids()) {
    ir::Value& value = graph.value(id);
    if (!value.is_constant() || value.shape->rank() != 2) continue;
    const Tensor floats = value.constant->ToTensor().value();
    value.constant = std::make_shared<const Constant>(Constant::Generated(
        DType::kF32, *value.shape, std::make_shared<StoredColumns>(type, floats)));
  }
  const std::vector<Tensor> inputs = ir::NoiseInputs(graph, 1, {}).value();
  const EvaluatedCase evaluated = EvaluateGraph(std::move(graph), inputs).value();
  return MakeGroup(evaluated, 0, evaluated.graph.nodes().size());
}

void CheckStored(DType type, std::string_view text) {
  const KernelDesc& kernel = type == DType::kF16 ? kCpuF16WeightsGemm : kCpuHalfWeightsBf16;
  const CpuDevice& device = TestDevice(3);
  const CaseGroup group = Store(type, text);
  const auto candidates = CandidatesOf(kernel, *group.graph, device);
  ASSERT_TRUE(candidates.ok()) << candidates.status().message() << "\n" << text;
  const Problem problem{group.graph, (*candidates)[0], 3};
  EXPECT_TRUE(
      CheckRun({kernel, group, problem, DefaultParams(kernel, problem, device), ""}, device))
      << text;
}

TEST(StoredHalves, MultiplyAnyNumberOfRowsOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const DType type : {DType::kF16, DType::kBF16}) {
      for (const int64_t rows : {1, 2, 3, 5, 8, 13, 16, 17, 40}) {
        CheckStored(type, fmt::format("input %x: f32[{}x97]\nconst %w: f32[97x75]\n"
                                      "%y = MatMul(%x, %w)\noutput %y\n",
                                      rows));
      }
      for (const int64_t rows : {1, 6, 18}) {
        CheckStored(type, fmt::format("input %x: f32[1x{0}x600]\ninput %r: f32[1x{0}x33]\n"
                                      "const %w: f32[600x33]\n%p = MatMul(%x, %w)\n"
                                      "%y = Add(%r, %p)\noutput %y\n",
                                      rows));
        CheckStored(type, fmt::format("input %x: f32[{}x300]\nconst %w: f32[300x130]\n"
                                      "const %b: f32[130]\n%y = Gemm(%x, %w, %b)\noutput %y\n",
                                      rows));
      }
    }
  }
  ForceSimdTarget("");
}

TEST(StoredHalves, EachTypeHasItsKernel) {
  constexpr std::string_view kText =
      "input %x: f32[1x8]\nconst %w: f32[8x8]\n%y = MatMul(%x, %w)\noutput %y\n";
  const CpuDevice& device = TestDevice(1);
  EXPECT_FALSE(CandidatesOf(kCpuF16WeightsGemm, *Store(DType::kBF16, kText).graph, device).ok());
  EXPECT_FALSE(CandidatesOf(kCpuHalfWeightsBf16, *Store(DType::kF16, kText).graph, device).ok());
  EXPECT_FALSE(CandidatesOf(kCpuHalfWeightsBf16, *ParseGroup(kText).graph, device).ok());
}

/// Panels of random halves, and rows of random floats.
struct Operands {
  int64_t depth, nr;
  std::vector<uint16_t> panels;  // two, and what is fetched behind them
  std::vector<float> a, bias;

  Operands(DType type, int64_t k, int64_t columns) : depth(k), nr(columns) {
    uint32_t state = 5;
    const auto next = [&] {
      state = state * 1664525 + 1013904223;
      return static_cast<float>(state >> 8) / 0x1p23F - 1;
    };
    for (int64_t i = 0; i < 2 * nr * depth; ++i) panels.push_back(Narrow(type, next()));
    for (int64_t i = 0; i < kMostHalfRows * depth; ++i) a.push_back(next());
    for (int64_t i = 0; i < 2 * nr; ++i) bias.push_back(next());
  }
};

std::vector<float> Multiply(const HalfKernels& kernels, const Operands& from, int64_t first,
                            int64_t rows, int64_t columns) {
  std::vector<float> c(rows * (columns + 1), NAN);
  HalfRowsArgs args;
  args.a = from.a.data() + first * from.depth;
  args.a_stride = args.depth = from.depth;
  args.rows = rows;
  args.b = reinterpret_cast<const std::byte*>(from.panels.data());
  args.c = c.data();
  args.c_stride = columns + 1;
  args.columns = columns;
  args.bias = from.bias.data();
  args.low = -5;
  kernels.rows[rows](args);
  return c;
}

TEST(StoredHalves, RowsAreTheSameBesideOthers) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    const int64_t nr = GetMicroKernels().nr;
    for (const DType type : {DType::kF16, DType::kBF16}) {
      const HalfKernels& kernels = GetHalfKernels(type);
      for (const int64_t depth : {1, 7, 256, 601}) {
        const Operands operands(type, depth, nr);
        for (int64_t columns = 1; columns <= 2 * nr; ++columns) {
          std::vector<float> alone;
          const int64_t most = columns > nr ? 1 : kernels.most_rows;
          for (int64_t row = 0; row < most; ++row) {
            const std::vector<float> one = Multiply(kernels, operands, row, 1, columns);
            alone.insert(alone.end(), one.begin(), one.end());
          }
          for (int64_t rows = 1; rows <= most; ++rows) {
            const std::vector<float> c = Multiply(kernels, operands, 0, rows, columns);
            EXPECT_EQ(std::memcmp(c.data(), alone.data(), c.size() * 4), 0) << rows << columns;
          }
        }
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
