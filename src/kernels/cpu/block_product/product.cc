// cpu.block_product.rows: BlockMatMul with constant weights. Rows are rounded to bytes once; then
// each panel of weights is read once for as many rows as fit the registers, and once a task from
// memory.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/block_product/block_panel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct Facts {
  ops::BlockProduct p;
  int bits = 4;
};

/// Rows that a task multiplies a panel by: what they take stays in the second-level cache.
constexpr int64_t kTaskRows = 64;

class BlockProductRows final : public PreparedKernel {
 public:
  BlockProductRows(const Problem& problem, const Facts& facts)
      : node_(problem.node()), p_(facts.p), kernels_(GetBlockKernels()) {
    const auto& graph = *problem.group;
    a_ = IndexOf(graph.inputs, node_.inputs[0]);
    layout_ = {.n = p_.n, .k = p_.k, .block = p_.block, .bits = facts.bits};
    layout_.halves = graph.value(node_.inputs[2]).dtype == DType::kF16;
    row_tasks_ = (p_.rows + kTaskRows - 1) / kTaskRows;
    // Four tasks a lane even out what lanes lose.
    const int64_t tasks = std::max<int64_t>(1, int64_t{4} * problem.threads);
    task_panels_ = std::max<int64_t>(1, layout_.panels() * row_tasks_ / tasks);
  }

  std::vector<PackRequest> packs() const override {
    PackRequest request;
    request.constants = {node_.inputs[1], node_.inputs[2], node_.inputs[3]};
    request.recipe = fmt::format("block_product.n{}.k{}.block{}.bits{}.halves{}", p_.n, p_.k,
                                 p_.block, layout_.bits, layout_.halves);
    request.bytes = layout_.bytes();
    request.pack = [layout = layout_](std::span<const Constant* const> constants, std::byte* out) {
      PackBlocks(layout, *constants[0], *constants[1], *constants[2], out);
      return OkStatus();
    };
    return {std::move(request)};
  }

  int64_t workspace_bytes() const override { return p_.rows * layout_.row_bytes(); }

  Status Launch(const LaunchArgs& args) const override {
    auto& stream = static_cast<CpuStream&>(args.stream);
    const float* a = args.inputs[a_].host<float>();
    std::byte* rows = args.workspace.host<std::byte>();
    const auto round = [&](int64_t row) {
      kernels_.round(layout_, a + row * p_.k, rows + row * layout_.row_bytes());
    };
    // Few rows take less than waking a lane does.
    if (p_.rows <= 4) {
      for (int64_t row = 0; row < p_.rows; ++row) round(row);
    } else {
      stream.ParallelFor(p_.rows, [&](int64_t row, int) { round(row); });
    }
    const int64_t column_tasks = (layout_.panels() + task_panels_ - 1) / task_panels_;
    stream.ParallelFor(column_tasks * row_tasks_, [&](int64_t task, int) {
      const int64_t first = task % column_tasks * task_panels_;
      const int64_t last = std::min(first + task_panels_, layout_.panels());
      for (int64_t panel = first; panel < last; ++panel)
        Multiply(args, panel, task / column_tasks * kTaskRows);
    });
    return OkStatus();
  }

 private:
  /// A panel by the rows of a task.
  void Multiply(const LaunchArgs& args, int64_t panel, int64_t row) const {
    BlockTile tile;
    tile.layout = &layout_;
    tile.panel = args.packed[0].host<std::byte>() + panel * layout_.panel_bytes();
    tile.c_stride = p_.n;
    tile.columns = std::min(kBlockColumns, p_.n - panel * kBlockColumns);
    const int64_t end = std::min(row + kTaskRows, p_.rows);
    const auto& tiles = layout_.bits == 4 ? kernels_.nibbles : kernels_.bytes;
    for (int64_t count = 0; row < end; row += count) {
      count = std::min<int64_t>(kernels_.rows, end - row);
      tile.rows = args.workspace.host<std::byte>() + row * layout_.row_bytes();
      tile.c = args.outputs[0].host<float>() + row * p_.n + panel * kBlockColumns;
      tiles[count](tile);
    }
  }

  ir::Node node_;
  ops::BlockProduct p_;
  const BlockKernels& kernels_;
  BlockLayout layout_;
  size_t a_ = 0;
  int64_t row_tasks_ = 1, task_panels_ = 1;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "BlockMatMul"_op)
    return Unsupported("computes BlockMatMul only");
  const ir::Node& node = group.nodes()[0];
  std::vector<Shape> shapes;
  for (ir::ValueId id : node.inputs) shapes.push_back(*group.value(id).shape);
  if (group.value(node.inputs[0]).is_constant()) return Unsupported("the rows are constant");
  for (size_t i : {1, 2, 3}) {
    if (!group.value(node.inputs[i]).is_constant()) return Unsupported("weights are computed");
  }
  Facts facts;
  ASSIGN_OR_RETURN(facts.p, ops::ReadBlockProduct(node, shapes));
  facts.bits = group.value(node.inputs[1]).dtype == DType::kU4 ? 4 : 8;
  return facts;
}

Work WorkOf(const Problem&, const Facts& facts, const Params&, const Device&) {
  const auto m = static_cast<double>(facts.p.rows), n = static_cast<double>(facts.p.n),
             k = static_cast<double>(facts.p.k);
  const double weights = n * k * (facts.bits / 8.0 + 4.0 / static_cast<double>(facts.p.block));
  return {.operations = 2 * m * n * k, .bytes = (weights) + 4 * m * (n + k)};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = RowMajorAlone,
                                .prepare = Make<BlockProductRows>,
                                .taste = Always<10>,
                                .work = WorkOf,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuBlockProductRows;
const KernelDesc kCpuBlockProductRows = {.name = "cpu.block_product.rows",
                                         .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
