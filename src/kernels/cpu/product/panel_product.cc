// compiled: small
#include "kernels/cpu/product/panel_product.h"

#include <algorithm>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/product/tasks.h"

namespace fettle::kernels {
namespace {

/// Row tiles of one task.
constexpr int64_t kMaxTiles = 16;
/// Elements between the rows of A that are copied for a slice: a multiple of a page between them
/// would put all rows into the same few lines of the first-level cache.
constexpr int64_t kSliceStride = PanelSource::kSliceRows + kPadding;

/// What the results of a task may take of the second-level cache.
int64_t ResultBytes(const CpuInfo& cpu) {
  constexpr int64_t kUnknown = 128 * 1024;
  return cpu.l2_bytes > 0 ? cpu.l2_bytes / 2 : kUnknown;
}

class PanelProduct final : public CpuKernel {
 public:
  PanelProduct(const Problem& problem, const Product& product,
               std::unique_ptr<const PanelSource> source, Epilogue epilogue, const CpuInfo& cpu)
      : CpuKernel(problem.threads),
        p_(product),
        a_(IndexOf(problem.group->inputs, p_.a)),
        kernels_(GetMicroKernels()),
        source_(std::move(source)),
        epilogue_(std::move(epilogue)),
        panels_(CeilDiv(p_.n, kernels_.nr)),
        direct_(p_.m <= source_->direct_rows()),
        tiles_(direct_ ? static_cast<int>(source_->most_rows()) : kernels_.mr,
               std::max<int64_t>(p_.m, 1)) {
    // Four tasks a lane even out what lanes lose.
    const int64_t row_tasks = CeilDiv(tiles_.count(), kMaxTiles);
    task_panels_ = lanes() == 1 ? panels_ : CeilDiv(panels_ * row_tasks, int64_t{4} * lanes());
    if (direct_) {
      task_panels_ = RoundUp(task_panels_, source_->panels_at_once(p_.m));
      return;
    }
    // Sums of a task wait for the next slice, and results for the epilogue.
    const int64_t rows = std::min<int64_t>(kMaxTiles * kernels_.mr, p_.m);
    const int64_t cached = ResultBytes(cpu) / (rows * kernels_.nr * 4);
    task_panels_ = std::clamp<int64_t>(cached, 1, std::max<int64_t>(task_panels_, 1));
    pointers_ = PerLane<const float*>(kMaxTiles * kernels_.mr);
    slice_ = PerLane<float>(PanelSource::kSliceRows * kernels_.nr);
    rows_ = PerLane<float>(rows * kSliceStride);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{source_->Request()};
    epilogue_.AppendPacks(all);
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    if (p_.m == 0) return OkStatus();
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const TileGrid grid(1, tiles_, kMaxTiles, panels_, task_panels_);
    args.stream.ParallelFor(grid.count(), [&](int64_t i, int lane) {
      const TileGrid::Task task = grid.At(i);
      if (direct_) {
        Multiply(args, task);
      } else {
        DecodeAndMultiply(args, task, lane);
      }
      elementwise::Tile tile{.row = task.row, .rows = task.rows};
      tile.col = task.panel * kernels_.nr;
      tile.cols = std::min(task.panel_end * kernels_.nr, p_.n) - tile.col;
      tile.running = C(args, tile.row, tile.col);
      tile.running_stride = p_.n;
      epilogue_.Run(binding, tile);
    });
    return OkStatus();
  }

 private:
  const std::byte* Packed(const CpuLaunch& args) const { return args.packed[0].host<std::byte>(); }
  const float* A(const CpuLaunch& args, int64_t row) const {
    return args.inputs[a_].host<float>() + row * p_.k;
  }
  float* C(const CpuLaunch& args, int64_t row, int64_t column) const {
    return args.outputs[0].host<float>() + row * p_.n + column;
  }
  /// What the epilogue adds to the result at `c`; or null.
  const float* AddendOver(const CpuLaunch& args, const float* c) const {
    if (epilogue_.addend() < 0) return nullptr;
    return args.inputs[epilogue_.addend()].host<float>() + (c - args.outputs[0].host<float>());
  }

  /// Few rows of A with panels as they are read.
  void Multiply(const CpuLaunch& args, const TileGrid::Task& task) const {
    const int64_t step = source_->panels_at_once(p_.m);
    RowsByPanel work;
    work.a_stride = p_.k;
    work.c_stride = p_.n;
    work.low = epilogue_.clamp().low;
    work.high = epilogue_.clamp().high;
    for (int64_t panel = task.panel; panel < task.panel_end; panel += step) {
      const int64_t column = panel * kernels_.nr;
      const int64_t end = std::min(panel + step, task.panel_end);
      work.columns = std::min(end * kernels_.nr, p_.n) - column;
      work.bias = source_->Bias(Packed(args), column);
      for (int64_t tile = task.first_tile; tile < task.end_tile; ++tile) {
        const int64_t row = tiles_.Begin(tile);
        work.rows = tiles_.Begin(tile + 1) - row;
        work.a = A(args, row);
        work.c = C(args, row, column);
        work.addend = AddendOver(args, work.c);
        source_->Multiply(Packed(args), panel, work);
      }
    }
  }

  /// Columns [begin, end) of the task's rows of A.
  void CopySlice(const CpuLaunch& args, const TileGrid::Task& task, int64_t begin, int64_t end,
                 float* out) const {
    const float* from = A(args, task.row) + begin;
    for (int64_t r = 0; r < task.rows; ++r, from += p_.k, out += kSliceStride)
      std::copy_n(from, end - begin, out);
  }

  /// Slice by slice: the rows of A stay in the second-level cache, the floats of a panel in the
  /// first.
  void DecodeAndMultiply(const CpuLaunch& args, const TileGrid::Task& task, int lane) const {
    float* rows = args.At(rows_, lane);
    for (int64_t begin = 0; begin < p_.k; begin = source_->SliceEnd(begin)) {
      const int64_t end = source_->SliceEnd(begin);
      CopySlice(args, task, begin, end, rows);
      for (int64_t panel = task.panel; panel < task.panel_end; ++panel)
        MultiplySlice(args, task, panel, begin, end, lane);
    }
  }

  void MultiplySlice(const CpuLaunch& args, const TileGrid::Task& task, int64_t panel,
                     int64_t begin, int64_t end, int lane) const {
    const int64_t column = panel * kernels_.nr;
    float *slice = args.At(slice_, lane), *c = C(args, task.row, column);
    source_->Decode(Packed(args), panel, begin, end, slice);
    TileSpan tiles[kMaxTiles];
    BlockArgs work;
    work.tiles =
        CutTiles(tiles_, task.first_tile, task.end_tile, {args.At(rows_, lane), kSliceStride}, c,
                 p_.n, args.At(pointers_, lane), tiles);
    work.depth = end - begin;
    work.b = slice;
    work.c_stride = p_.n;
    work.columns = std::min<int64_t>(kernels_.nr, p_.n - column);
    work.bias = source_->Bias(Packed(args), column);
    work.accumulate = begin > 0;
    if (end == p_.k) {
      work.low = epilogue_.clamp().low;
      work.high = epilogue_.clamp().high;
      work.addend = AddendOver(args, c);
    }
    const std::span<const std::byte> next = source_->Slice(Packed(args), panel + 1, begin, end);
    work.ahead = reinterpret_cast<const float*>(next.data());
    work.ahead_step =
        static_cast<int64_t>(next.size()) / work.depth / static_cast<int64_t>(sizeof(float));
    RunBlock(kernels_, work);
  }

  Product p_;
  size_t a_;
  const MicroKernels& kernels_;
  std::unique_ptr<const PanelSource> source_;
  Epilogue epilogue_;
  int64_t panels_;
  bool direct_;
  RowTiles tiles_;
  int64_t task_panels_ = 1;  // at most
  LaneScratch<const float*> pointers_;
  LaneScratch<float> slice_, rows_;  // of a panel, and of A
};

}  // namespace

std::unique_ptr<PreparedKernel> MakePanelProduct(const Problem& problem, const Product& product,
                                                 std::unique_ptr<const PanelSource> source,
                                                 Epilogue epilogue, const CpuDevice& device) {
  return std::make_unique<PanelProduct>(problem, product, std::move(source), std::move(epilogue),
                                        device.info());
}

Work WorkOfPanels(const Product& product, double weight_bytes) {
  const auto m = static_cast<double>(product.m), n = static_cast<double>(product.n),
             k = static_cast<double>(product.k);
  return {.operations = 2 * m * n * k, .bytes = weight_bytes + 4 * m * (n + k)};
}

}  // namespace fettle::kernels
