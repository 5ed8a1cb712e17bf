// compiled: small
// cpu.conv.lines.nhwc: convolutions whose kernel rows are one run of depth each. Lines of the input
// are copied with their padding, so that the pixels of an output row read runs of kernel width
// times channels that lie evenly: tiles need one address for each line, where a product of pixels
// reads one for each pixel and tap, which binds tiles of one vector.
#include <algorithm>
#include <array>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/zeros.h"
#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/join_windows.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kMostKernelRows = 11;
/// Tiles of one call of the loop nest.
constexpr int64_t kMaxTiles = 64;

struct LineConv {
  ConvOperands operands;
  ConvGeometry g;

  /// Elements of a padded line, and of a kernel row.
  int64_t line_floats() const { return ((g.out[2] - 1) * g.stride[2] + g.kernel[2]) * g.ic; }
  int64_t run() const { return g.kernel[2] * g.ic; }
  /// Input lines that `rows` output rows meet.
  int64_t lines(int64_t rows) const {
    return (rows - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
  }
};

Result<LineConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  if (g.groups != 1) return Unsupported("more than one group");
  if (g.oc == 0 || g.ic == 0 || g.out[2] == 0) return Unsupported("nothing to compute");
  if (!g.IsImage()) return Unsupported("three spatial axes");
  if (g.dilation[2] != 1) return Unsupported("a dilation over 1");
  if (g.kernel[2] == 1) return Unsupported("a kernel of one column");
  if (g.kernel[1] > kMostKernelRows) return Unsupported("a kernel of {} rows", g.kernel[1]);
  return LineConv{operands, g};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const LineConv& conv,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ConvStates(group, conv.operands));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// Output rows of one task.
struct RowBlock {
  int64_t rows = 1;
};
constexpr Fields kFields("", Field{"rows", &RowBlock::rows, {}});

/// Rows whose lines stay in a quarter of the second-level cache, and a few tasks for each lane.
RowBlock ChooseRows(const CpuDevice& cpu, const LineConv& conv, int threads) {
  const ConvGeometry& g = conv.g;
  const int64_t l2 = cpu.info().l2_bytes > 0 ? cpu.info().l2_bytes : 512 * 1024;
  const int64_t row_bytes = 4 * (conv.line_floats() * g.stride[1] + g.out[2] * g.oc);
  const int64_t all = std::max<int64_t>(g.out[1], 1);
  const int64_t rows = std::clamp<int64_t>(l2 / 4 / std::max<int64_t>(row_bytes, 1), 4, 64);
  const int64_t wanted = threads > 1 ? int64_t{4} * threads : 1;
  return {CeilDiv(all, std::max(CeilDiv(all, rows), wanted))};
}

class LinesGemm final : public CpuKernel, public WritesWindow {
 public:
  LinesGemm(const Problem& problem, const LineConv& conv, Epilogue epilogue, RowBlock block,
            const CpuInfo& cpu)
      : CpuKernel(problem.threads),
        conv_(conv),
        g_(conv_.g),
        input_(IndexOf(problem.group->inputs, conv.operands.x)),
        out_(ChannelsLastPixels(g_.oc, g_.image_pixels())),
        kernels_(GetMicroKernels()),
        weights_{.oc = g_.oc, .ic = g_.ic, .taps = g_.taps()},
        row_tiles_(kernels_.mr, g_.out[2]),
        epilogue_(std::move(epilogue)),
        block_(block),
        depth_block_(ChooseBlocking(cpu, kernels_.mr, kernels_.nr, g_.pixels(), g_.oc,
                                    weights_.depth(), problem.threads, kMaxTiles * kernels_.mr)
                         .depth_block) {}

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{RequestPanels(
        conv_.operands, fmt::format("conv.g1.nr{}.f32", kernels_.nr), weights_, kernels_.nr)};
    epilogue_.AppendPacks(all);
    return all;
  }

  Status WriteApart(const WindowRows& rows) override {
    if (epilogue_.addend() >= 0) return Unsupported("the addend lies as the output does");
    if (rows.row != out_.channels) return Unsupported("rows are not the channels of a pixel");
    out_ = ChannelsLastPixels(rows.pitch, out_.pixels);
    return OkStatus();
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const int64_t blocks = CeilDiv(g_.out[1], block_.rows);
    args.stream.ParallelFor(g_.batch * blocks, [&](int64_t i, int lane) {
      const int64_t row = i % blocks * block_.rows;
      RunTask(args, binding,
              {.image = i / blocks,
               .row = row,
               .end = std::min(row + block_.rows, g_.out[1]),
               .lines = args.At(lines_, lane)});
    });
    return OkStatus();
  }

 private:
  /// Output rows [row, end) of an image.
  struct Task {
    int64_t image, row, end;
    float* lines;  // padded, from FirstLine() on
  };
  /// Kernel rows [begin, end) that meet lines of the image.
  struct Taps {
    int64_t begin, end;
    bool operator==(const Taps&) const = default;
  };

  int64_t Top(int64_t row) const { return row * g_.stride[1] - g_.pad[1]; }
  int64_t FirstLine(const Task& task) const { return std::max<int64_t>(Top(task.row), 0); }
  Taps TapsOf(int64_t row) const {
    const int64_t step = g_.dilation[1], top = Top(row);
    const int64_t begin = std::min(top >= 0 ? 0 : CeilDiv(-top, step), g_.kernel[1]);
    const int64_t end = top >= g_.in[1] ? 0 : CeilDiv(g_.in[1] - top, step);
    return {begin, std::clamp(end, begin, g_.kernel[1])};
  }

  void CopyLines(const float* image, const Task& task) const {
    const int64_t last = Top(task.end - 1) + (g_.kernel[1] - 1) * g_.dilation[1];
    const int64_t floats = conv_.line_floats(), left = g_.pad[2] * g_.ic;
    const int64_t width = std::clamp<int64_t>(floats - left, 0, g_.in[2] * g_.ic);
    float* out = task.lines;
    for (int64_t h = FirstLine(task); h <= std::min(last, g_.in[1] - 1); ++h, out += floats) {
      const int64_t begin = std::min(left, floats);
      FillZeros(out, begin);
      std::copy_n(image + h * g_.in[2] * g_.ic, width, out + begin);
      FillZeros(out + begin + width, floats - begin - width);
    }
  }

  void RunTask(const CpuLaunch& args, const elementwise::Binding& binding, const Task& task) const {
    const int64_t image_floats = g_.in[1] * g_.in[2] * g_.ic;
    CopyLines(args.inputs[input_].host<float>() + task.image * image_floats, task);
    const int64_t most = std::max<int64_t>(kMaxTiles / row_tiles_.count(), 1);
    for (int64_t row = task.row; row < task.end;) {
      const Taps taps = TapsOf(row);
      int64_t end = row + 1;
      while (end < task.end && end - row < most && TapsOf(end) == taps) ++end;
      RunRows(args, task, row, end, taps);
      row = end;
    }
    FinishPixels(epilogue_, binding, out_,
                 {task.image, task.row * g_.out[2], (task.end - task.row) * g_.out[2], 0, g_.oc},
                 args.outputs[0].host<float>());
  }

  /// Output rows that meet the same kernel rows.
  void RunRows(const CpuLaunch& args, const Task& task, int64_t row, int64_t end,
               const Taps& taps) const {
    const int64_t count = row_tiles_.count();
    for (int64_t tile = 0; tile < count; tile += kMaxTiles)
      RunTiles(args, task, {row, end}, {tile, std::min(tile + kMaxTiles, count)}, taps);
  }

  struct Range {
    int64_t begin, end;
  };
  void RunTiles(const CpuLaunch& args, const Task& task, const Range& rows, const Range& columns,
                const Taps& taps) const {
    std::array<TileSpan, kMaxTiles> tiles;
    std::array<const float*, kMaxTiles> firsts;
    const int64_t floats = conv_.line_floats(), step = g_.stride[2] * g_.ic;
    const int64_t first_line = taps.begin * g_.dilation[1] - FirstLine(task);
    float* y = args.outputs[0].host<float>();
    size_t used = 0;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const float* line = task.lines + (Top(row) + first_line) * floats;
      for (int64_t i = columns.begin; i < columns.end; ++i, ++used) {
        const int64_t column = row_tiles_.Begin(i);
        firsts[used] = line + column * step;
        tiles[used] = {.a = &firsts[used],
                       .rows = row_tiles_.Begin(i + 1) - column,
                       .c = y + out_.Offset(task.image, row * g_.out[2] + column, 0),
                       .a_step = step,
                       .tap_step = g_.dilation[1] * floats,
                       .continues = i + 1 < columns.end};
      }
    }
    BlockArgs block;
    block.tiles = {tiles.data(), used};
    block.taps = taps.end - taps.begin;
    block.depth = block.taps == 0 ? 0 : conv_.run();
    const auto* panels = args.packed[0].host<float>();
    block.b = panels + taps.begin * conv_.run() * kernels_.nr;
    block.panel_stride = weights_.depth() * kernels_.nr;
    block.columns = g_.oc;
    block.c_stride = out_.block;
    block.bias = panels + weights_.group_elements(kernels_.nr);
    if (epilogue_.addend() >= 0)
      block.addend = args.inputs[epilogue_.addend()].host<float>() + (tiles[0].c - y);
    block.low = epilogue_.clamp().low;
    block.high = epilogue_.clamp().high;
    block.depth_block = depth_block_;
    RunBlock(kernels_, block);
  }

  LineConv conv_;
  const ConvGeometry& g_;
  size_t input_;
  PixelLayout out_;  // of the tensor that the output is a window of, where it is one
  const MicroKernels& kernels_;
  WeightShape weights_;
  RowTiles row_tiles_;
  Epilogue epilogue_;
  RowBlock block_;
  int64_t depth_block_;
  LaneScratch<float> lines_ =
      PerLane<float>(std::min(conv_.lines(block_.rows), g_.in[1]) * conv_.line_floats());
};

ParamSpace Space(const Problem& problem, const LineConv& conv, const Device& device) {
  const RowBlock usual = ChooseRows(static_cast<const CpuDevice&>(device), conv, problem.threads);
  return {kFields.Tunables({ValuesAround(usual.rows, conv.g.out[1])}), kFields.Write(usual), {}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const LineConv& conv,
                                                const Params& params, const Device& device) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileSum(*problem.group, problem.states));
  RowBlock block = kFields.Read(params, ChooseRows(cpu, conv, problem.threads));
  block.rows = std::clamp<int64_t>(block.rows, 1, std::max<int64_t>(conv.g.out[1], 1));
  return std::unique_ptr<PreparedKernel>(
      new LinesGemm(problem, conv, std::move(epilogue), block, cpu.info()));
}

/// Tiles of one vector are bound by addresses, others by multiply-adds. Threads share whole lines,
/// and a signal is one: three threads of four would wait.
int Taste(const LineConv& conv, const Device& device) {
  const int threads = static_cast<const CpuDevice&>(device).pool().threads();
  const bool shared = 4 * conv.g.batch * conv.g.out[1] > threads;
  return shared && 2 * conv.g.oc <= GetMicroKernels().nr ? 13 : 9;
}

constexpr Family<LineConv> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Taste};

}  // namespace

extern const KernelDesc kCpuConvLinesNhwc;
const KernelDesc kCpuConvLinesNhwc = {.name = "cpu.conv.lines.nhwc", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
