// compiled: small
// Products whose constant right operand stays packed in 16 bits an element: where reading it is
// what takes time, half of the bytes are half of it. Slices of a panel become floats in the
// first-level cache, where the fp32 micro-kernels multiply them; activations and sums are f32.
//   cpu.f16_weights.gemm    weights that are exact in f16: results are those of f32
//   cpu.half_weights.bf16   weights that the file has in bf16: the same
//   cpu.bf16_weights.gemm   any weights, rounded to bf16: for processors without products of bf16
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gemm/microkernel.h"
#include "kernels/cpu/half_weights/panels.h"
#include "kernels/cpu/half_weights/rows.h"
#include "kernels/cpu/product/panel_product.h"
#include "kernels/family.h"
#include "tensor/compact_floats.h"
#include "tensor/sixteen_bits.h"

namespace fettle::kernels {
namespace {

Result<Product> ReadRows(const ir::Graph& group) {
  ASSIGN_OR_RETURN(const Product p, ReadRowsByConstant(group));
  if (p.m == 0 || p.n == 0 || p.k == 0) return Unsupported("an empty operand");
  if (p.alpha != 1) return Unsupported("weights times a factor");
  return p;
}

/// What a product keeps of its weights.
struct HalfProduct {
  Product p;
  DType storage = DType::kBF16;
  bool stored = false;  // so the file has them
};

/// What the weights' form tells, without reading them.
Result<HalfProduct> ReadExact(const ir::Graph& group, DType storage) {
  ASSIGN_OR_RETURN(const Product p, ReadRows(group));
  const Constant& weights = *group.value(p.b).constant;
  const bool stored = !SixteenBitBytes(weights, !p.trans_b).empty();
  const bool compact = storage == DType::kF16 && CompactFormOf(weights) == CompactForm::kHalves;
  if (SixteenBitsOf(weights) != storage && !compact)
    return Unsupported("weights that are not {}", DTypeName(storage));
  return HalfProduct{p, storage, stored};
}
Result<HalfProduct> ReadF16(const ir::Graph& group, const Device&) {
  return ReadExact(group, DType::kF16);
}
Result<HalfProduct> ReadBf16(const ir::Graph& group, const Device&) {
  return ReadExact(group, DType::kBF16);
}

Result<HalfProduct> ReadRounded(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const Product p, ReadRows(group));
  return HalfProduct{p};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const HalfProduct&,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, FloatRowMajorStates(group));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

class HalfSource final : public PanelSource {
 public:
  explicit HalfSource(const HalfProduct& product)
      : b_(product.p.b),
        addend_(product.p.constant_row ? product.p.addend : ir::kAbsent),
        beta_(product.p.beta),
        kernels_(GetHalfKernels(product.storage)),
        panels_{product.storage, GetMicroKernels().nr, product.p.n, product.p.k,
                product.p.trans_b} {}

  PackRequest Request() const override {
    PackRequest request;
    request.constants = {b_};
    if (addend_ != ir::kAbsent) request.constants.push_back(addend_);
    request.recipe =
        fmt::format("half_weights.{}.t{}.nr{}.b{}", DTypeName(panels_.storage), panels_.transposed,
                    panels_.nr, addend_ != ir::kAbsent ? beta_ : 0);
    request.bytes = panels_.bytes() + panels_.count() * panels_.nr * 4;
    request.pack = [panels = panels_, beta = beta_](std::span<const Constant* const> constants,
                                                    std::byte* out) {
      PackHalfPanels(panels, *constants[0], out);
      PackBias(constants.size() > 1 ? constants[1] : nullptr, 0, panels.n,
               panels.count() * panels.nr, beta, reinterpret_cast<float*>(out + panels.bytes()));
      return OkStatus();
    };
    return request;
  }

  const float* Bias(const std::byte* packed, int64_t column) const override {
    if (addend_ == ir::kAbsent) return nullptr;
    return reinterpret_cast<const float*>(packed + panels_.bytes()) + column;
  }

  int64_t direct_rows() const override { return 16; }
  int64_t most_rows() const override { return kernels_.most_rows; }
  int64_t panels_at_once(int64_t rows) const override { return rows == 1 ? 2 : 1; }
  void Multiply(const std::byte* packed, int64_t panel, const RowsByPanel& work) const override {
    kernels_.rows[work.rows]({work, panels_.k, panels_.At(packed, panel, 0)});
  }

  int64_t SliceEnd(int64_t row) const override { return std::min(row + kSliceRows, panels_.k); }
  void Decode(const std::byte* packed, int64_t panel, int64_t begin, int64_t end,
              float* out) const override {
    kernels_.widen(panels_.At(packed, panel, begin), (end - begin) * panels_.nr, out);
  }
  std::span<const std::byte> Slice(const std::byte* packed, int64_t panel, int64_t begin,
                                   int64_t end) const override {
    return {panels_.At(packed, panel, begin), panels_.At(packed, panel, end)};
  }

 private:
  ir::ValueId b_, addend_;
  float beta_;
  const HalfKernels& kernels_;
  HalfPanels panels_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const HalfProduct& product,
                                                const Params&, const Device& device) {
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileSum(*problem.group, problem.states));
  return MakePanelProduct(problem, product.p, std::make_unique<HalfSource>(product),
                          std::move(epilogue), static_cast<const CpuDevice&>(device));
}

constexpr int kFaster = 12, kUnknown = 3;

/// Rows up to which reading weights that no second-level cache holds is all that takes time. With
/// more it depends on the processor, and on the memory that is saved: weights that the file has in
/// 16 bits stay so, or panels for few rows would lie beside others for many.
constexpr int64_t kBoundByMemory = 4;

int TasteOf(const HalfProduct& product, const Device& device) {
  const Product& p = product.p;
  const int64_t l2 = static_cast<const CpuDevice&>(device).info().l2_bytes;
  const bool few = p.m <= kBoundByMemory && p.n * p.k * int64_t{4} > l2;
  return few || product.stored ? kFaster : kUnknown;
}

Work WorkOf(const Problem&, const HalfProduct& product, const Params&, const Device&) {
  return WorkOfPanels(product.p, 2 * static_cast<double>(product.p.n * product.p.k));
}

template <auto kRead>
constexpr Family<HalfProduct> kFamily{
    .read = kRead, .states = States, .prepare = Prepare, .taste = TasteOf, .work = WorkOf};

}  // namespace

extern const KernelDesc kCpuF16WeightsGemm;
const KernelDesc kCpuF16WeightsGemm = {
    .name = "cpu.f16_weights.gemm", .version = 2, .match = MatchAs<kFamily<ReadF16>>};

extern const KernelDesc kCpuHalfWeightsBf16;
const KernelDesc kCpuHalfWeightsBf16 = {.name = "cpu.half_weights.bf16",
                                        .match = MatchAs<kFamily<ReadBf16>>};

extern const KernelDesc kCpuBf16WeightsGemm;
const KernelDesc kCpuBf16WeightsGemm = {.name = "cpu.bf16_weights.gemm",
                                        .version = 2,
                                        .arithmetic = Arithmetic::kBF16,
                                        .match = MatchAs<kFamily<ReadRounded>>};

}  // namespace fettle::kernels
