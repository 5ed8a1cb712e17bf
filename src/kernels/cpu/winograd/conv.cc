// 3x3 convolutions of stride 1 by Winograd's F(m x m, 3 x 3): windows to points, one small product
// a point, points to tiles; a block of tiles at a time, in the second-level cache.
//   cpu.conv.winograd43.nhwc    F(4x4, 3x3), channels-last, where it is a safe choice unmeasured
//   cpu.conv.winograd43.any     the same for few tiles or channels, and from or to blocks of
//   channels cpu.conv.winograd23.any     F(2x2, 3x3): fewer and cheaper points, for small images
#include <algorithm>
#include <cstring>

#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/winograd/transform.h"

namespace fettle::kernels {
namespace {

/// Fewer channels leave the transforms with more work than the products save.
constexpr int64_t kSafeChannels = 16, kLeastChannels = 8;
/// Fewer tiles do not pay for streaming filters of four times the size.
constexpr int64_t kSafeTiles = 24, kLeastTiles = 4;

/// The output cut into tiles of m x m pixels, row by row, image by image.
struct Tiling {
  int64_t rows = 0, columns = 0, count = 0;
};

Tiling TilesOf(const ConvGeometry& g, int outputs) {
  Tiling tiling{CeilDiv(g.out[1], outputs), CeilDiv(g.out[2], outputs), 0};
  tiling.count = g.batch * tiling.rows * tiling.columns;
  return tiling;
}

Status CheckGeometry(const ConvGeometry& g) {
  using Axes = std::array<int64_t, 3>;
  if (g.kernel != Axes{1, 3, 3} || g.in[0] != 1) return Unsupported("not a 3x3 kernel");
  if (g.stride != Axes{1, 1, 1} || g.dilation != Axes{1, 1, 1}) {
    return Unsupported("a stride or dilation over 1");
  }
  if (g.groups != 1) return Unsupported("more than one group");
  return OkStatus();
}

bool IsSafe(const ConvGeometry& g) {
  return std::min(g.ic, g.oc) >= kSafeChannels && TilesOf(g, 4).count >= kSafeTiles;
}

Result<std::vector<StateAssignment>> SafeCandidates(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  RETURN_IF_ERROR(CheckGeometry(g));
  if (!IsSafe(g))
    return Unsupported("fewer than {} channels or {} tiles", kSafeChannels, kSafeTiles);
  const Layout last = Layout::ChannelsLast(group.value(operands.x).shape->rank());
  return ConvStatesIn(group, operands, {{last, last}});
}

template <int kOutputs>
Result<std::vector<StateAssignment>> AnyCandidates(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  RETURN_IF_ERROR(CheckGeometry(g));
  if (std::min(g.ic, g.oc) < kLeastChannels)
    return Unsupported("fewer than {} channels", kLeastChannels);
  if (TilesOf(g, kOutputs).count < kLeastTiles)
    return Unsupported("fewer than {} tiles", kLeastTiles);
  const int rank = group.value(operands.x).shape->rank();
  const Layout last = Layout::ChannelsLast(rank), blocks = ChannelBlockLayout();
  std::vector<ConvLayouts> layouts;
  if (kOutputs != 4 || !IsSafe(g)) layouts.push_back({last, last});
  if (rank == 4) layouts.insert(layouts.end(), {{blocks, blocks}, {last, blocks}, {blocks, last}});
  return ConvStatesIn(group, operands, layouts);
}

/// How much one lane works on at a time.
struct BlockSize {
  int64_t tiles = 0;
  int64_t columns = 0;  // output channels per round, a multiple of nr
  /// Tasks that share a block's tiles, each with output channels of its own: the windows are mapped
  /// by every one of them.
  int64_t column_tasks = 1;
};

struct WinogradProblem {
  ConvGeometry g;
  ConvPixels pixels;
  int outputs;
  int64_t points() const { return (outputs + 2) * (outputs + 2); }
};

Result<WinogradProblem> ReadProblem(const Problem& problem, int outputs) {
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(*problem.group, problem.node()));
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, problem.node().input(0)));
  return WinogradProblem{g, pixels, outputs};
}

BlockSize ChooseBlock(const CpuInfo& info, const WinogradProblem& p, int threads) {
  const MicroKernels& kernels = GetMicroKernels();
  // Points of the inputs take half of the second-level cache, points of the results a quarter.
  const int64_t l2 = info.l2_bytes > 0 ? info.l2_bytes : 512 * 1024;
  const int64_t point_bytes = p.points() * 4;
  const int64_t most =
      std::max<int64_t>(kernels.mr, l2 / 2 / (point_bytes * p.g.ic) / kernels.mr * kernels.mr);
  const int64_t tiles = TilesOf(p.g, p.outputs).count;
  int64_t blocks = CeilDiv(tiles, most);
  if (blocks < int64_t{4} * threads && tiles >= kSafeTiles) blocks = RoundUp(blocks, threads);
  BlockSize block;
  block.tiles = CeilDiv(tiles, blocks);
  const int64_t columns = l2 / 4 / (point_bytes * block.tiles) / kernels.nr * kernels.nr;
  const int64_t padded_oc = RoundUp(p.g.oc, kernels.nr);
  block.columns = std::clamp<int64_t>(columns, kernels.nr, padded_oc);
  if (blocks < threads)
    block.column_tasks = std::min<int64_t>(int64_t{2} * threads, padded_oc / kernels.nr);
  return block;
}

/// The output channels of one task, in whole panels.
int64_t TaskColumns(const BlockSize& block, int64_t oc, int nr) {
  return CeilDiv(CeilDiv(oc, nr), block.column_tasks) * nr;
}

class ConvWinograd final : public PreparedKernel {
 public:
  ConvWinograd(const Problem& problem, const ConvOperands& operands, const WinogradProblem& p,
               Epilogue epilogue, const BlockSize& block, int lanes)
      : operands_(operands),
        input_(static_cast<size_t>(IndexOf(problem.group->inputs, operands.x))),
        g_(p.g),
        in_(p.pixels.in),
        out_(p.pixels.out),
        tiling_(TilesOf(p.g, p.outputs)),
        kernels_(GetMicroKernels()),
        form_(GetWinogradForm(p.outputs)),
        epilogue_(std::move(epilogue)),
        block_(block),
        lanes_(lanes),
        padded_oc_(RoundUp(p.g.oc, kernels_.nr)),
        padded_ic_(RoundUp(p.g.ic, 16)) {
    task_columns_ = TaskColumns(block_, g_.oc, kernels_.nr);
    block_.columns = std::min(block_.columns, task_columns_);
  }

  std::vector<PackRequest> packs() const override {
    const int64_t point_floats = form_.points() * PointElements();
    std::vector<PackRequest> all{RequestWeights(
        operands_, fmt::format("conv.winograd{}3.nr{}.f32", form_.outputs, kernels_.nr),
        point_floats + padded_oc_,
        [form = form_, oc = g_.oc, ic = g_.ic, padded_oc = padded_oc_, nr = kernels_.nr,
         point_floats](const Constant& w, const Constant* b, float* out) {
          PackFilters(form, w, oc, ic, nr, out);
          PackBias(b, 0, oc, padded_oc, 1, out + point_floats);
        })};
    epilogue_.AppendPacks(all);
    return all;
  }

  int64_t workspace_bytes() const override { return ZeroBytes() + lanes_ * LaneBytes(); }

  Status Launch(const LaunchArgs& args) const override {
    std::memset(args.workspace.host<std::byte>(), 0, static_cast<size_t>(ZeroBytes()));
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const int64_t column_tasks = CeilDiv(g_.oc, task_columns_);
    static_cast<CpuStream&>(args.stream)
        .ParallelFor(
            CeilDiv(tiling_.count, block_.tiles) * column_tasks, [&](int64_t task, int lane) {
              Block block{args, binding, task / column_tasks * block_.tiles};
              block.tiles = std::min(block_.tiles, tiling_.count - block.begin);
              block.scratch = args.workspace.host<std::byte>() + ZeroBytes() + lane * LaneBytes();
              const int64_t column = task % column_tasks * task_columns_;
              RunTask(block, column, std::min(column + task_columns_, g_.oc));
            });
    return OkStatus();
  }

 private:
  struct TilePosition {
    int64_t image, row, column;  // first output pixel
  };
  /// Tiles [begin, begin + tiles) and the scratch of the lane that computes them.
  struct Block {
    const LaunchArgs& args;
    const elementwise::Binding& binding;
    int64_t begin;
    int64_t tiles = 0;
    std::byte* scratch = nullptr;
  };

  /// Packed floats of one point: panels of nr filters, [panel][ic][nr].
  int64_t PointElements() const { return padded_oc_ * g_.ic; }
  int64_t ZeroBytes() const { return RoundUp(padded_ic_ * 4 + 64, 64); }
  int64_t InputBytes() const { return form_.points() * block_.tiles * padded_ic_ * 4; }
  int64_t ResultBytes() const { return form_.points() * block_.tiles * block_.columns * 4; }
  int64_t PointerBytes() const {
    return RoundUp(block_.tiles * static_cast<int64_t>(sizeof(float*)), 64);
  }
  int64_t SpanBytes() const {
    return RoundUp(CeilDiv(block_.tiles, kernels_.mr) * static_cast<int64_t>(sizeof(TileSpan)), 64);
  }
  int64_t LaneBytes() const {
    return InputBytes() + ResultBytes() + PointerBytes() + SpanBytes() + 64;
  }

  static void PackFilters(const WinogradForm& form, const Constant& weights, int64_t oc, int64_t ic,
                          int64_t nr, float* points) {
    const int64_t row = ic * 9, padded_oc = RoundUp(oc, nr);
    std::vector<float> rows(static_cast<size_t>(nr * row)), taps(static_cast<size_t>(9 * nr));
    for (int64_t first = 0; first < padded_oc; first += nr) {
      const int64_t filters = std::min(nr, oc - first);
      std::fill(rows.begin(), rows.end(), 0.0f);
      ReadFloats(weights, first * row, filters * row, rows.data());
      for (int64_t c = 0; c < ic; ++c) {
        for (int64_t t = 0; t < 9; ++t) {
          for (int64_t i = 0; i < nr; ++i) {
            taps[static_cast<size_t>(t * nr + i)] = rows[static_cast<size_t>(i * row + c * 9 + t)];
          }
        }
        form.filters(taps.data(), nr, points + first * ic + c * nr, padded_oc * ic);
      }
    }
  }

  TilePosition Position(int64_t tile) const {
    const int64_t in_image = tile % (tiling_.rows * tiling_.columns);
    return {tile / (tiling_.rows * tiling_.columns), in_image / tiling_.columns * form_.outputs,
            in_image % tiling_.columns * form_.outputs};
  }

  /// The window of a tile, block by block of channels.
  void TransformWindow(const LaunchArgs& args, int64_t tile, float* out) const {
    const TilePosition at = Position(tile);
    const auto* zeros = args.workspace.host<float>();
    const float* image = args.inputs[input_].host<float>() + at.image * in_.image;
    const int n = form_.inputs();
    for (int64_t channel = 0; channel < g_.ic; channel += in_.block) {
      const float* plane = image + channel / in_.block * in_.plane;
      const float* pixels[kMaxWinogradPoints];
      for (int i = 0; i < n; ++i) {
        const int64_t y = at.row - g_.pad[1] + i;
        for (int j = 0; j < n; ++j) {
          const int64_t x = at.column - g_.pad[2] + j;
          const bool inside = y >= 0 && y < g_.in[1] && x >= 0 && x < g_.in[2];
          pixels[i * n + j] = inside ? plane + (y * g_.in[2] + x) * in_.block : zeros;
        }
      }
      form_.input(
          {pixels, std::min(in_.block, g_.ic - channel), out + channel, block_.tiles * padded_ic_});
    }
  }

  void RunTask(const Block& block, int64_t column, int64_t end) const {
    auto* inputs = reinterpret_cast<float*>(block.scratch);
    auto* results = reinterpret_cast<float*>(block.scratch + InputBytes());
    for (int64_t t = 0; t < block.tiles; ++t)
      TransformWindow(block.args, block.begin + t, inputs + t * padded_ic_);
    for (; column < end; column += block_.columns) {
      const int64_t columns = std::min(block_.columns, end - column);
      Multiply(block, inputs, column, columns, results);
      Finish(block, column, columns, results);
    }
  }

  void Multiply(const Block& block, const float* inputs, int64_t column, int64_t columns,
                float* results) const {
    std::byte* lists = block.scratch + InputBytes() + ResultBytes();
    auto** pointers = reinterpret_cast<const float**>(lists);
    auto* spans = reinterpret_cast<TileSpan*>(lists + PointerBytes());
    BlockArgs work;
    work.depth = g_.ic;
    work.columns = columns;
    work.c_stride = block_.columns;
    for (int64_t p = 0; p < form_.points(); ++p) {
      const EvenRows rows{inputs + p * block_.tiles * padded_ic_, padded_ic_};
      work.b = block.args.packed[0].host<float>() + p * PointElements() + column * g_.ic;
      work.tiles =
          CutTiles(kernels_.mr, rows, block.tiles, results + p * block_.tiles * block_.columns,
                   block_.columns, pointers, spans);
      RunBlock(kernels_, work);
    }
  }

  void Finish(const Block& block, int64_t column, int64_t columns, const float* results) const {
    const float* bias = block.args.packed[0].host<float>() + form_.points() * PointElements();
    auto* y = block.args.outputs[0].host<float>();
    WinogradOutput output;
    output.point_stride = block_.tiles * block_.columns;
    output.low = epilogue_.clamp().low;
    output.high = epilogue_.clamp().high;
    output.row_stride = g_.out[2] * out_.block;
    output.pixel_stride = out_.block;
    for (int64_t t = 0; t < block.tiles; ++t) {
      const TilePosition at = Position(block.begin + t);
      output.rows = std::min<int64_t>(form_.outputs, g_.out[1] - at.row);
      output.columns = std::min<int64_t>(form_.outputs, g_.out[2] - at.column);
      for (int64_t c = column; c < column + columns; c += output.channels) {
        output.channels = std::min(column + columns - c, out_.block - c % out_.block);
        output.in = results + t * block_.columns + (c - column);
        output.bias = bias + c;
        output.out = y + out_.Offset(at.image, at.row * g_.out[2] + at.column, c);
        form_.output(output);
      }
    }
    RunEpilogue(block, column, columns);
  }

  /// Neighbouring tiles of one row of tiles share their pixel rows.
  void RunEpilogue(const Block& block, int64_t column, int64_t columns) const {
    for (int64_t t = 0; t < block.tiles;) {
      const TilePosition at = Position(block.begin + t);
      const int64_t run = std::min(block.tiles - t, tiling_.columns - at.column / form_.outputs);
      const int64_t width = std::min(run * form_.outputs, g_.out[2] - at.column);
      const int64_t height = std::min<int64_t>(form_.outputs, g_.out[1] - at.row);
      for (int64_t r = 0; r < height; ++r) {
        const int64_t pixel = (at.row + r) * g_.out[2] + at.column;
        FinishPixels(epilogue_, block.binding, out_, {at.image, pixel, width, column, columns},
                     block.args.outputs[0].host<float>());
      }
      t += run;
    }
  }

  ConvOperands operands_;
  size_t input_;
  ConvGeometry g_;
  PixelLayout in_, out_;
  Tiling tiling_;
  const MicroKernels& kernels_;
  WinogradForm form_;
  Epilogue epilogue_;
  BlockSize block_;
  int lanes_;
  int64_t padded_oc_, padded_ic_, task_columns_;
};

template <int kOutputs>
std::vector<Tunable> Tunables(const Problem& problem, const Device& device) {
  const WinogradProblem p = ReadProblem(problem, kOutputs).value();
  const BlockSize usual =
      ChooseBlock(static_cast<const CpuDevice&>(device).info(), p, problem.threads);
  const int nr = GetMicroKernels().nr;
  const int64_t panels = CeilDiv(p.g.oc, nr);
  return {{"tiles", ValuesAround(usual.tiles, TilesOf(p.g, kOutputs).count)},
          {"panels", ValuesAround(usual.columns / nr, panels)},
          {"column_tasks", ValuesAround(usual.column_tasks, panels)}};
}

template <int kOutputs>
Params Defaults(const Problem& problem, const Device& device) {
  const BlockSize usual = ChooseBlock(static_cast<const CpuDevice&>(device).info(),
                                      ReadProblem(problem, kOutputs).value(), problem.threads);
  return {{"tiles", usual.tiles},
          {"panels", usual.columns / GetMicroKernels().nr},
          {"column_tasks", usual.column_tasks}};
}

template <int kOutputs>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(*problem.group, "Conv"));
  ASSIGN_OR_RETURN(const WinogradProblem p, ReadProblem(problem, kOutputs));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  BlockSize block = ChooseBlock(cpu.info(), p, problem.threads);
  const auto read = [&](std::string_view name, int64_t unit, int64_t& value) {
    if (const auto it = params.find(name); it != params.end())
      value = std::max<int64_t>(it->second, 1) * unit;
  };
  read("tiles", 1, block.tiles);
  read("panels", GetMicroKernels().nr, block.columns);
  read("column_tasks", 1, block.column_tasks);
  return std::unique_ptr<PreparedKernel>(
      new ConvWinograd(problem, operands, p, std::move(epilogue), block, cpu.pool().threads()));
}

/// Products of the points, and the transforms' additions, which also take the vector units' time.
template <int kOutputs>
Work CountWork(const Problem& problem, const Params&, const Device&) {
  const WinogradProblem p = ReadProblem(problem, kOutputs).value();
  const auto tiles = static_cast<double>(TilesOf(p.g, kOutputs).count);
  const auto points = static_cast<double>(p.points());
  const auto ic = static_cast<double>(p.g.ic), oc = static_cast<double>(p.g.oc);
  Work work;
  work.operations = 2 * tiles * points * ic * oc;
  work.bytes = 4 * (ic * static_cast<double>(p.g.batch * p.g.in[1] * p.g.in[2]) +
                    oc * static_cast<double>(p.g.pixels()) + points * ic * oc);
  return work;
}

}  // namespace

extern const KernelDesc kCpuConvWinograd43Nhwc;
const KernelDesc kCpuConvWinograd43Nhwc = {.name = "cpu.conv.winograd43.nhwc",
                                           .version = 2,
                                           .preference = 12,
                                           .candidates = SafeCandidates,
                                           .prepare = Prepare<4>,
                                           .tunables = Tunables<4>,
                                           .default_params = Defaults<4>,
                                           .work = CountWork<4>};

extern const KernelDesc kCpuConvWinograd43Any;
const KernelDesc kCpuConvWinograd43Any = {.name = "cpu.conv.winograd43.any",
                                          .preference = 7,
                                          .candidates = AnyCandidates<4>,
                                          .prepare = Prepare<4>,
                                          .tunables = Tunables<4>,
                                          .default_params = Defaults<4>,
                                          .work = CountWork<4>};

extern const KernelDesc kCpuConvWinograd23Any;
const KernelDesc kCpuConvWinograd23Any = {.name = "cpu.conv.winograd23.any",
                                          .preference = 6,
                                          .candidates = AnyCandidates<2>,
                                          .prepare = Prepare<2>,
                                          .tunables = Tunables<2>,
                                          .default_params = Defaults<2>,
                                          .work = CountWork<2>};

}  // namespace fettle::kernels
