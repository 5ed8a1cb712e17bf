// compiled: small
// cpu.weight_only.gemm: products whose right operand is a constant of 4 or 8 bits with scales, left
// as it is in memory. Few rows multiply its codes as they are read; for many, slices of a panel are
// decoded into the cache and multiplied by the fp32 micro-kernels.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/weight_only/tile.h"
#include "kernels/family.h"
#include "kernels/match/product.h"

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

/// Row tiles of one task.
constexpr int64_t kMaxTiles = 16;
/// Rows of a panel that are decoded at a time, and multiplied while they are in the cache.
constexpr int64_t kSlice = 256;
/// Elements between the rows of A that are copied for a slice: a multiple of a page between them
/// would put all rows into the same few lines of the first-level cache.
constexpr int64_t kSliceStride = kSlice + 16;

class WeightOnlyGemm final : public CpuKernel {
 public:
  WeightOnlyGemm(const Problem& problem, const CodeProduct& facts, Epilogue epilogue)
      : CpuKernel(problem.threads),
        facts_(facts),
        layout_(ReadLayout(problem, facts)),
        a_(IndexOf(problem.group->inputs, facts.product.a)),
        dtype_(ConstantOf(problem, facts.weights.weights)->dtype()),
        kernels_(GetMicroKernels()),
        panel_kernels_(GetPanelKernels(layout_.bits)),
        epilogue_(std::move(epilogue)) {
    const int64_t m = std::max<int64_t>(facts.product.m, 1);
    direct_ = m <= panel_kernels_.direct_rows;
    tiles_ = RowTiles(direct_ ? panel_kernels_.rows : kernels_.mr, m);
    // Four tasks a lane even out what lanes lose.
    const int64_t row_tasks = CeilDiv(tiles_.count(), kMaxTiles);
    task_panels_ =
        std::max<int64_t>(1, layout_.panels() * row_tasks / (int64_t{4} * problem.threads));
    if (direct_) return;
    pointers_ = PerLane<const float*>(kMaxTiles * kernels_.mr);
    slice_ = PerLane<float>(kSlice * layout_.nr);
    rows_ = PerLane<float>(std::min<int64_t>(kMaxTiles * kernels_.mr, m) * kSliceStride);
  }

  std::vector<PackRequest> packs() const override {
    PackRequest request =
        RequestPanels(facts_.weights, layout_, dtype_, facts_.product.addend, facts_.product.beta);
    std::vector<PackRequest> all{std::move(request)};
    epilogue_.AppendPacks(all);
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    if (facts_.product.m == 0) return OkStatus();
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const int64_t column_tasks = CeilDiv(layout_.panels(), task_panels_);
    args.stream.ParallelFor(
        column_tasks * CeilDiv(tiles_.count(), kMaxTiles), [&](int64_t task, int lane) {
          Block block;
          block.first_tile = task / column_tasks * kMaxTiles;
          block.end_tile = std::min(block.first_tile + kMaxTiles, tiles_.count());
          block.row = tiles_.Begin(block.first_tile);
          block.rows = tiles_.Begin(block.end_tile) - block.row;
          const int64_t first = task % column_tasks * task_panels_;
          block.column = first * layout_.nr;
          block.columns = std::min(task_panels_ * layout_.nr, layout_.n - block.column);
          float* c = args.outputs[0].host<float>() + block.row * layout_.n + block.column;
          if (direct_) {
            Multiply(args, block, c);
          } else {
            DecodeAndMultiply(args, block, c, lane);
          }
          elementwise::Tile tile{.row = block.row, .rows = block.rows};
          tile.col = block.column;
          tile.cols = block.columns;
          tile.running = c;
          tile.running_stride = layout_.n;
          epilogue_.Run(binding, tile);
        });
    return OkStatus();
  }

 private:
  /// A rectangle of the output.
  struct Block {
    int64_t first_tile, end_tile, row, rows, column, columns;
  };

  const float* RowsOfA(const CpuLaunch& args, int64_t row) const {
    return args.inputs[a_].host<float>() + row * layout_.k;
  }
  const float* BiasOf(const CpuLaunch& args, int64_t column) const {
    if (!layout_.has_bias) return nullptr;
    return reinterpret_cast<const float*>(args.packed[0].host<std::byte>() + layout_.bias_at()) +
           column;
  }

  void Multiply(const CpuLaunch& args, const Block& block, float* c) const {
    for (int64_t column = 0; column < block.columns; column += layout_.nr) {
      const int64_t at = block.column + column;
      PanelTile work;
      work.panel = PanelOf(layout_, args.packed[0].host<std::byte>(), at / layout_.nr);
      work.a_stride = layout_.k;
      work.c_stride = layout_.n;
      work.columns = std::min<int64_t>(layout_.nr, block.columns - column);
      work.bias = BiasOf(args, at);
      work.low = epilogue_.clamp().low;
      work.high = epilogue_.clamp().high;
      for (int64_t tile = block.first_tile; tile < block.end_tile; ++tile) {
        const int64_t row = tiles_.Begin(tile);
        work.a = RowsOfA(args, row);
        work.c = c + (row - block.row) * layout_.n + column;
        work.rows = tiles_.Begin(tile + 1) - row;
        panel_kernels_.tile[work.rows](work);
      }
    }
  }

  /// The end of the slice of a panel that begins at `begin`: whole blocks, or a part of one.
  int64_t SliceEnd(int64_t begin) const {
    const int64_t block = layout_.block;
    const int64_t end = block <= kSlice ? begin + kSlice / block * block
                                        : std::min(begin + kSlice, (begin / block + 1) * block);
    return std::min(end, layout_.k);
  }

  /// Columns [begin, end) of the block's rows of A.
  void CopySlice(const CpuLaunch& args, const Block& block, int64_t begin, int64_t end,
                 float* out) const {
    const float* from = RowsOfA(args, block.row) + begin;
    for (int64_t r = 0; r < block.rows; ++r, from += layout_.k, out += kSliceStride)
      std::copy_n(from, end - begin, out);
  }

  void DecodeAndMultiply(const CpuLaunch& args, const Block& block, float* c, int lane) const {
    float *slice = args.At(slice_, lane), *rows = args.At(rows_, lane);
    TileSpan tiles[kMaxTiles];
    BlockArgs work;
    work.c_stride = layout_.n;
    work.b = slice;
    for (int64_t begin = 0; begin < layout_.k; begin = SliceEnd(begin)) {
      const int64_t end = SliceEnd(begin);
      CopySlice(args, block, begin, end, rows);
      work.depth = end - begin;
      work.accumulate = begin > 0;
      const Clamp clamp = end == layout_.k ? epilogue_.clamp() : Clamp();
      work.low = clamp.low;
      work.high = clamp.high;
      for (int64_t column = 0; column < block.columns; column += layout_.nr) {
        const int64_t at = block.column + column;
        const Panel panel = PanelOf(layout_, args.packed[0].host<std::byte>(), at / layout_.nr);
        panel_kernels_.decode(panel, begin, end, slice);
        work.tiles = CutTiles(tiles_, block.first_tile, block.end_tile, {rows, kSliceStride},
                              c + column, work.c_stride, args.At(pointers_, lane), tiles);
        work.columns = std::min<int64_t>(layout_.nr, block.columns - column);
        work.bias = BiasOf(args, at);
        RunBlock(kernels_, work);
      }
    }
  }

  CodeProduct facts_;
  PanelLayout layout_;
  size_t a_;
  DType dtype_;
  const MicroKernels& kernels_;
  const PanelKernels& panel_kernels_;
  Epilogue epilogue_;
  RowTiles tiles_;
  bool direct_ = false;
  int64_t task_panels_ = 1;
  LaneScratch<const float*> pointers_;
  LaneScratch<float> slice_, rows_;  // of a panel, and of A
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const CodeProduct& facts,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(Epilogue epilogue,
                   Epilogue::Compile(*problem.group, problem.states, facts.anchor));
  return std::unique_ptr<PreparedKernel>(new WeightOnlyGemm(problem, facts, std::move(epilogue)));
}

Work WorkOf(const Problem& problem, const CodeProduct& facts, const Params&, const Device&) {
  const Product& p = facts.product;
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  return {.operations = 2 * m * n * k,
          .bytes = static_cast<double>(ReadLayout(problem, facts).bytes()) + 4 * m * (n + k)};
}

constexpr Family<CodeProduct> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<12>, .work = WorkOf};

}  // namespace

extern const KernelDesc kCpuWeightOnlyGemm;
const KernelDesc kCpuWeightOnlyGemm = {
    .name = "cpu.weight_only.gemm", .version = 2, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
