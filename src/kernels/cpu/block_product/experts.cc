// cpu.block_product.experts: ExpertMatMul with weights in blocks. Rows are rounded to bytes once,
// and each panel of an expert is read once for all rows that chose it.
#include <algorithm>

#include "kernels/cpu/block_product/panel_rows.h"
#include "kernels/cpu/expert_rows.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

using Product = ops::ExpertProduct;

BlockOperands OperandsOf(const ExpertGroup& group) {
  return {group.input(Product::kWeights), group.input(Product::kScales),
          group.input(Product::kMinima)};
}

BlockLayout ExpertLayout(const ir::Graph& graph, const ExpertGroup& group) {
  const BlockOperands operands = OperandsOf(group);
  const Product& p = group.p;
  BlockLayout layout =
      LayoutOf(graph, operands, {.rows = p.choices(), .n = p.n, .k = p.k, .block = p.block},
               PanelBits(*graph.value(operands.codes).constant, p.block));
  layout.matrices = p.experts;
  layout.row_words = GetBlockKernels().bytes_take_words && layout.bits == 8;
  return layout;
}

class BlockExperts final : public ExpertRows {
 public:
  BlockExperts(const Problem& problem, const ExpertGroup& group)
      : ExpertRows(problem, group, kBlockColumns),
        kernels_(GetBlockKernels()),
        layout_(ExpertLayout(*problem.group, group)),
        operands_(OperandsOf(group)) {
    KeepRows(layout_.row_bytes());
    if (layout_.has_planes()) unpacked_ = PerLane<std::byte>(layout_.k * kBlockColumns);
    scales_ = PerLane<float>(layout_.scaled_floats());
  }

  std::vector<PackRequest> packs() const override { return {RequestBlocks(layout_, operands_)}; }

 private:
  void TakeRow(const float* a, std::byte* row) const override {
    kernels_.round(layout_, a, row);
    if (layout_.times_scale == 0 || layout_.times_scale == 1) return;
    auto* sums = reinterpret_cast<float*>(row + layout_.steps_at()) + layout_.sum_at();
    for (int64_t b = 0; b < layout_.blocks(); ++b) sums[b] *= layout_.times_scale;
  }

  void Multiply(const CpuLaunch& args, int64_t expert, int64_t piece, int64_t columns,
                const std::byte* rows, int64_t count, float* c, int lane) const override {
    const auto* packed = args.packed[0].host<std::byte>();
    PanelRows work{.layout = &layout_, .unpacks = UnpacksPanels(kernels_, layout_, count)};
    work.tiles = kernels_.TilesOf(layout_, packed);
    work.panel = packed + expert * layout_.matrix_bytes() + piece * layout_.panel_bytes();
    work.columns = columns;
    work.rows = rows;
    work.count = count;
    work.c = c;
    work.c_stride = kBlockColumns;
    work.unpacked = args.At(unpacked_, lane);
    work.scales = args.At(scales_, lane);
    MultiplyPanel(kernels_, work);
  }

  const BlockKernels& kernels_;
  BlockLayout layout_;
  BlockOperands operands_;
  LaneScratch<std::byte> unpacked_;  // the codes of a panel
  LaneScratch<float> scales_;        // those of a panel
};

Result<ExpertGroup> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(ExpertGroup found, ReadExpertGroup(group));
  if (found.p.block == 0) return Unsupported("weights are floats");
  return found;
}

constexpr Family<ExpertGroup> kFamily{.read = Read,
                                      .states = RowMajorAlone,
                                      .prepare = Make<BlockExperts>,
                                      .taste = Always<10>,
                                      .work = WorkOfExperts,
                                      .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuBlockProductExperts;
const KernelDesc kCpuBlockProductExperts = {.name = "cpu.block_product.experts",
                                            .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
