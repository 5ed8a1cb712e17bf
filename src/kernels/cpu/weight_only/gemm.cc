// compiled: small
// cpu.weight_only.gemm: products whose right operand is a constant of 4 or 8 bits with scales, left
// as it is in memory. Few rows multiply its codes as they are read; for many, slices of a panel are
// decoded into the cache and multiplied by the fp32 micro-kernels.
#include <algorithm>

#include "kernels/cpu/gemm/microkernel.h"
#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/weight_only/tile.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

Result<CodeProduct> Read(const ir::Graph& group, const Device&) { return ReadCodeProduct(group); }

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const CodeProduct& facts,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, FloatRowMajorStates(group));
  RETURN_IF_ERROR(Epilogue::Compile(group, states, facts.anchor).status());
  return std::vector<StateAssignment>{std::move(states)};
}

const Constant* ConstantOf(const Problem& problem, ir::ValueId id) {
  return id == ir::kAbsent ? nullptr : problem.group->value(id).constant.get();
}

PanelLayout ReadLayout(const Problem& problem, const CodeProduct& facts) {
  const Constant& weights = *ConstantOf(problem, facts.weights.weights);
  PanelLayout layout = LayoutOf(facts.weights, weights.dtype(), GetMicroKernels().nr);
  layout.has_zeros =
      HasZeroPoints(facts.weights, weights, ConstantOf(problem, facts.weights.zeros));
  layout.has_bias = facts.product.constant_row;
  return layout;
}

class CodeSource final : public PanelSource {
 public:
  CodeSource(const Problem& problem, const CodeProduct& facts)
      : weights_(facts.weights),
        bias_(facts.product.addend),
        beta_(facts.product.beta),
        layout_(ReadLayout(problem, facts)),
        dtype_(ConstantOf(problem, facts.weights.weights)->dtype()),
        kernels_(GetPanelKernels(layout_.bits)) {}

  PackRequest Request() const override {
    return RequestPanels(weights_, layout_, dtype_, bias_, beta_);
  }
  const float* Bias(const std::byte* packed, int64_t column) const override {
    if (!layout_.has_bias) return nullptr;
    return reinterpret_cast<const float*>(packed + layout_.bias_at()) + column;
  }

  int64_t direct_rows() const override { return kernels_.direct_rows; }
  int64_t most_rows() const override { return kernels_.rows; }
  void Multiply(const std::byte* packed, int64_t panel, const RowsByPanel& work) const override {
    kernels_.tile[work.rows]({work, PanelOf(layout_, packed, panel)});
  }

  /// Whole blocks, or a part of one.
  int64_t SliceEnd(int64_t row) const override {
    const int64_t block = layout_.block;
    const int64_t end = block <= kSliceRows ? row + kSliceRows / block * block
                                            : std::min(row + kSliceRows, (row / block + 1) * block);
    return std::min(end, layout_.k);
  }
  void Decode(const std::byte* packed, int64_t panel, int64_t begin, int64_t end,
              float* out) const override {
    kernels_.decode(PanelOf(layout_, packed, panel), begin, end, out);
  }
  std::span<const std::byte> Slice(const std::byte* packed, int64_t panel, int64_t begin,
                                   int64_t end) const override {
    const auto at = [&](int64_t row) {
      return row / layout_.block * layout_.block_bytes() +
             row % layout_.block / kPanelStep * layout_.step_bytes();
    };
    const std::byte* codes = packed + panel * layout_.panel_bytes();
    return {codes + at(begin), codes + at(end)};
  }

 private:
  ops::WeightOnly weights_;
  ir::ValueId bias_;
  float beta_;
  PanelLayout layout_;
  DType dtype_;
  const PanelKernels& kernels_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const CodeProduct& facts,
                                                const Params&, const Device& device) {
  ASSIGN_OR_RETURN(Epilogue epilogue,
                   Epilogue::Compile(*problem.group, problem.states, facts.anchor));
  return MakePanelProduct(problem, facts.product, std::make_unique<CodeSource>(problem, facts),
                          std::move(epilogue), static_cast<const CpuDevice&>(device));
}

Work WorkOf(const Problem& problem, const CodeProduct& facts, const Params&, const Device&) {
  return WorkOfPanels(facts.product, static_cast<double>(ReadLayout(problem, facts).bytes()));
}

constexpr Family<CodeProduct> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<12>, .work = WorkOf};

}  // namespace

extern const KernelDesc kCpuWeightOnlyGemm;
const KernelDesc kCpuWeightOnlyGemm = {
    .name = "cpu.weight_only.gemm", .version = 2, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
