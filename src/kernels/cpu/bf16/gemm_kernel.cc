#include "kernels/cpu/bf16/gemm_kernel.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/cpu/conv/taps.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/product/tasks.h"
#include "kernels/cpu/simd/amx_tiles.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kUsualL2 = 256 * 1024;

int64_t L2Bytes(const CpuDevice& device) {
  return device.info().l2_bytes > 0 ? device.info().l2_bytes : kUsualL2;
}

/// Of all tiles as few as there can be, of one height.
int TileRowsFor(int64_t rows, int most) {
  return static_cast<int>(CeilDiv(rows, CeilDiv(rows, int64_t{most})));
}

class Bf16Gemm final : public CpuKernel {
 public:
  Bf16Gemm(const Problem& problem, const Bf16Product& product, const ConvPixels& pixels,
           Epilogue epilogue, const Blocking& blocking, const Bf16Blocks& blocks,
           const CpuDevice& device)
      : CpuKernel(problem.threads),
        p_(product),
        g_(p_.g),
        input_(IndexOf(problem.group->inputs, p_.operands.x)),
        out_(pixels.out),
        taps_(PlanTaps(g_, pixels.in)),
        even_(g_.IsPointwise()),
        epilogue_(std::move(epilogue)),
        blocks_(blocks),
        blocking_(blocking),
        tile_rows_(TileRowsFor(g_.pixels(), blocks.most_rows)),
        chunks_(CeilDiv(p_.weights.depth(), kBf16Depth)),
        panels_(p_.weights.panels(kBf16Columns)),
        panel_elements_(Bf16PanelElements(p_.weights)) {
    near_panels_ = std::max<int64_t>(1, L2Bytes(device) / 4 / (panel_elements_ * 2));
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{RequestBf16Panels(p_)};
    epilogue_.AppendPacks(all);
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const TaskGrid grid(1, g_.pixels(), g_.groups * panels_, blocking_);
    args.stream.ParallelFor(grid.count(), [&](int64_t i, int lane) {
      const TaskGrid::Task part = grid.At(i);
      const Task work{args, binding, {part.row, part.rows}, lane};
      RunTask(work, part.panel, part.panel_end);
    });
    return OkStatus();
  }

 private:
  struct Task {
    const CpuLaunch& args;
    const elementwise::Binding& binding;
    PixelRange range;
    int lane;
  };

  int64_t TileElements() const { return chunks_ * tile_rows_ * kBf16Depth; }

  /// Panels [first, end), counted over all groups.
  void RunTask(const Task& task, int64_t first, int64_t end) const {
    if (!even_) {
      FillTapPointers<float>(g_, taps_, task.args.inputs[input_].host<float>(),
                             task.args.At(zeros_), 0, task.range, tile_rows_,
                             task.args.At(copies_, task.lane), task.args.At(pointers_, task.lane));
    }
    std::optional<AmxTiles> tiles;
    if (blocks_.uses_tiles) tiles.emplace(BlockTiles(tile_rows_));
    ForEachGroup(first, end, panels_, [&](int64_t group, int64_t panel, int64_t panel_end) {
      RunGroup(task, group, panel, panel_end);
    });
  }

  /// Panels [first, end) of a group. Where all stay near, two tiles of rows at a time are packed
  /// and meet them; otherwise those that stay near pass over all rows of the task. So do all panels
  /// over the taps of a kernel, whose rows read the input in longer runs: 13 % faster with 3x3.
  void RunGroup(const Task& task, int64_t group, int64_t first, int64_t end) const {
    const bool in_pairs = even_ && end - first <= near_panels_;
    const int64_t step = in_pairs ? 2 * tile_rows_ : blocking_.rows;
    for (int64_t row = 0; row < task.range.rows; row += step) {
      const PixelRange rows{row, std::min(step, task.range.rows - row)};
      PackTiles(task, group, rows);
      for (int64_t panel = first; panel < end; panel += near_panels_)
        RunPanels(task, group, panel, std::min(panel + near_panels_, end), rows);
    }
  }

  /// Rows of a task as tiles of one group.
  void PackTiles(const Task& task, int64_t group, const PixelRange& range) const {
    FloatRows rows{.taps = taps_.taps,
                   .depth = g_.groups == 1 ? taps_.depth : p_.weights.ic,
                   .offset = group * p_.weights.ic};
    const auto* x = task.args.inputs[input_].host<float>();
    uint16_t* out = task.args.At(packed_, task.lane);
    const int64_t end = range.begin + range.rows;
    for (int64_t row = range.begin; row < end; row += tile_rows_, out += TileElements()) {
      rows.rows = std::min<int64_t>(tile_rows_, end - row);
      if (even_) {
        rows.first = x + (task.range.begin + row) * g_.ic;
        rows.stride = g_.ic;
      } else {
        rows.at = task.args.At(pointers_, task.lane) + row * taps_.taps;
      }
      PackBf16Rows(rows, tile_rows_, out);
    }
  }

  void RunPanels(const Task& task, int64_t group, int64_t first, int64_t end,
                 const PixelRange& rows) const {
    const auto* weights = task.args.packed[0].host<uint16_t>() + group * panels_ * panel_elements_;
    const auto* bias = task.args.packed[0].host<float>() +
                       g_.groups * panels_ * panel_elements_ / 2 + group * panels_ * kBf16Columns;
    auto* y = task.args.outputs[0].host<float>();
    const int64_t channel = first * kBf16Columns;
    const int64_t channels = std::min(end * kBf16Columns, p_.weights.oc) - channel;
    Bf16BlockArgs block{.tile_rows = tile_rows_,
                        .chunks = chunks_,
                        .c_stride = g_.oc,
                        .low = epilogue_.clamp().low,
                        .high = epilogue_.clamp().high};
    for (int64_t row = 0; row < rows.rows; row += 2 * tile_rows_) {
      const int64_t pixel = task.range.begin + rows.begin + row;
      block.rows = std::min<int64_t>(2 * tile_rows_, rows.rows - row);
      block.a = task.args.At(packed_, task.lane) + row / tile_rows_ * TileElements();
      block.b_is_far = rows.begin + row == 0;
      block.c = y + pixel * g_.oc + group * p_.weights.oc + channel;
      for (int64_t panel = first; panel < end; ++panel, block.c += kBf16Columns) {
        block.b = weights + panel * panel_elements_;
        block.bias = bias + panel * kBf16Columns;
        block.columns = std::min<int64_t>(kBf16Columns, p_.weights.oc - panel * kBf16Columns);
        blocks_.run(block);
      }
      // Of channels-last images that follow each other.
      FinishPixels(epilogue_, task.binding, out_,
                   {pixel / out_.pixels, pixel % out_.pixels, block.rows,
                    group * p_.weights.oc + channel, channels},
                   y);
    }
  }

  Bf16Product p_;
  ConvGeometry g_;
  size_t input_;
  PixelLayout out_;
  TapPlan taps_;
  bool even_;  // rows of the product lie evenly in the input
  Epilogue epilogue_;
  const Bf16Blocks& blocks_;
  Blocking blocking_;
  int tile_rows_;
  int64_t chunks_, panels_, panel_elements_;
  int64_t near_panels_;  // whose weights take a quarter of the second-level cache
  RunScratch<float> zeros_ = Zeroed<float>(taps_.depth);
  LaneScratch<const float*> pointers_ =
      PerLane<const float*>(even_ ? 0 : blocking_.rows * taps_.taps);
  LaneScratch<float> copies_ =
      PerLane<float>(even_ ? 0 : TapCopyElements(g_, taps_, blocking_.rows));
  /// Rows, [tile][chunk][tile_rows][kBf16Depth].
  LaneScratch<uint16_t> packed_ =
      PerLane<uint16_t>(CeilDiv(blocking_.rows, tile_rows_) * TileElements());
};

}  // namespace

Bf16Cut CutBf16(const Bf16Product& product, const Bf16Blocks& blocks, int threads,
                const CpuDevice& device) {
  const ConvGeometry& g = product.g;
  const WeightShape& weights = product.weights;
  const int64_t row_bytes = RoundUp(weights.depth(), kBf16Depth) * 2;
  Bf16Cut cut{.tile_rows = TileRowsFor(g.pixels(), blocks.most_rows)};
  const int height = 2 * cut.tile_rows;
  cut.most_rows =
      std::max<int64_t>(height, std::min<int64_t>(L2Bytes(device) * 5 / 8 / row_bytes, 1024));
  cut.all_panels = weights.groups * weights.panels(kBf16Columns);
  cut.usual = ChooseBlocking(device.info(), height, kBf16Columns, g.pixels(),
                             cut.all_panels * kBf16Columns, row_bytes / 4, threads, cut.most_rows);
  return cut;
}

std::unique_ptr<PreparedKernel> MakeBf16Gemm(const Problem& problem, const Bf16Product& product,
                                             const ConvPixels& pixels, Epilogue epilogue,
                                             const Blocking& blocking, const Bf16Blocks& blocks,
                                             const CpuDevice& device) {
  return std::make_unique<Bf16Gemm>(problem, product, pixels, std::move(epilogue), blocking, blocks,
                                    device);
}

}  // namespace fettle::kernels
