// compiled: small
#include "kernels/cpu/winograd/conv_kernel.h"

#include <algorithm>

#include "kernels/cpu/conv/at_extents.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/winograd/filters.h"
#include "kernels/cpu/winograd/transform.h"
#include "kernels/join_windows.h"
#include "kernels/takes_extents.h"

namespace fettle::kernels {
namespace {

/// The output channels of one task, in whole panels.
int64_t TaskColumns(const WinogradBlock& block, int64_t oc, int nr) {
  return CeilDiv(CeilDiv(oc, nr), block.column_tasks) * nr;
}

/// Elements from one point to the next of `elements` each: an odd number of lines, or the points of
/// a pixel would share a few sets of the first-level cache.
int64_t PointStride(int64_t elements) {
  constexpr int64_t kLine = 16;
  return (CeilDiv(elements, kLine) | 1) * kLine;
}

/// Tasks a lane that make windows points, so that a late lane holds up nobody for long.
constexpr int kWindowTasks = 3;

class ConvWinograd final : public CpuKernel,
                           public WritesWindow,
                           public MovesToExtents<ConvWinograd> {
 public:
  ConvWinograd(const Problem& problem, const ConvOperands& operands, const WinogradProblem& p,
               Epilogue epilogue, const WinogradBlock& block)
      : CpuKernel(problem.threads),
        operands_(operands),
        input_(IndexOf(problem.group->inputs, operands.x)),
        volume_(p.volume),
        g_(p.g),
        in_(p.pixels.in),
        out_(p.pixels.out),
        kernels_(GetMicroKernels()),
        form_(GetWinogradForm(p.outputs)),
        epilogue_(std::move(epilogue)),
        panels_{form_, p.g.oc, p.g.ic, kernels_.nr, p.volume.kernel[0]},
        padded_ic_(RoundUp(p.g.ic, 16)),
        slice_(block.from_taps ? WinogradSlice(panels_) : padded_ic_) {
    SetSizes(block);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{
        RequestWeights(operands_,
                       fmt::format("conv.winograd{}3.{}d{}nr{}.f32", form_.outputs,
                                   block_.from_taps ? "taps." : "", panels_.depth, kernels_.nr),
                       FilterElements() + panels_.padded_oc(),
                       [p = panels_, from_taps = block_.from_taps](const Constant& w,
                                                                   const Constant* b, float* out) {
                         PackWinogradFilters(p, w, from_taps, out);
                         PackBias(b, 0, p.oc, p.padded_oc(), 1, out + p.elements(from_taps));
                       })};
    epilogue_.AppendPacks(all);
    return all;
  }

  bool MoveTo(const Problem& problem, const Device& device) override {
    const auto at = AtExtents(volume_, {in_, out_}, epilogue_, *problem.group);
    if (!at) return false;
    const WinogradProblem p{at->g, AsImages(at->g), at->pixels, form_.outputs};
    const bool is_as_good = IsSafeWinograd(p.g) == IsSafeWinograd(g_) &&
                            PaysWinograd23(p.g) == PaysWinograd23(g_) &&
                            TilesOf(p.g, p.outputs).count >= kLeastWinogradTiles;
    if (!is_as_good) return false;
    volume_ = p.volume;
    g_ = p.g;
    in_ = p.pixels.in;
    out_ = p.pixels.out;
    ForgetScratch(problem.threads);
    SetSizes(UsualWinogradBlock(static_cast<const CpuDevice&>(device).info(), p, problem.threads));
    return true;
  }

  Status WriteApart(const WindowRows& rows) override {
    if (!out_.is_channels_last() || rows.row != out_.channels)
      return Unsupported("rows are not the channels of a pixel");
    out_ = ChannelsLastPixels(rows.pitch, out_.pixels);
    return OkStatus();
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    if (SharesInputs()) TransformAll(args, binding);
    args.stream.ParallelFor(Blocks() * column_tasks_, [&](int64_t task, int lane) {
      const Block block = BlockOf(args, binding, task / column_tasks_, lane);
      for (int64_t t = 0; !SharesInputs() && t < block.tiles; ++t) TransformWindow(block, t);
      const int64_t column = task % column_tasks_ * task_columns_;
      RunTask(block, column, std::min(column + task_columns_, g_.oc));
    });
    return OkStatus();
  }

 private:
  /// What follows from the geometry and the block.
  void SetSizes(const WinogradBlock& block) {
    tiling_ = TilesOf(g_, form_.outputs);
    block_ = block;
    task_columns_ = TaskColumns(block_, g_.oc, kernels_.nr);
    column_tasks_ = CeilDiv(g_.oc, task_columns_);
    block_.columns = std::min(block_.columns, task_columns_);
    zeros_ = Zeroed<float>(padded_ic_ + 16);
    const int64_t inputs = CeilDiv(padded_ic_, slice_) * SliceElements();
    if (SharesInputs()) all_inputs_ = PerRun<float>(Blocks() * inputs);
    results_ = PerLane<float>(form_.points() * ResultStride());
    filters_ = PerLane<float>(block_.from_taps ? form_.points() * FilterStride() : 0);
    pointers_ = PerLane<const float*>(block_.tiles);
    spans_ = PerLane<TileSpan>(CeilDiv(block_.tiles, kernels_.mr));
    if (!SharesInputs()) inputs_ = PerLane<float>(inputs);
  }

  struct TilePosition {
    int64_t image, plane, row, column;  // first output pixel
  };
  /// Tiles [begin, begin + tiles) and the lane that computes them.
  struct Block {
    const CpuLaunch& args;
    const elementwise::Binding& binding;
    int64_t begin;
    int64_t tiles;
    float* inputs;  // points of the windows
    int lane;
    template <typename T>
    T* At(LaneScratch<T> piece) const {
      return args.At(piece, lane);
    }
  };
  Block BlockOf(const CpuLaunch& args, const elementwise::Binding& binding, int64_t index,
                int lane) const {
    const int64_t begin = index * block_.tiles;
    float* inputs = SharesInputs() ? args.At(all_inputs_) +
                                         index * CeilDiv(padded_ic_, slice_) * SliceElements()
                                   : args.At(inputs_, lane);
    return {args, binding, begin, std::min(block_.tiles, tiling_.count - begin), inputs, lane};
  }
  int64_t Blocks() const { return CeilDiv(tiling_.count, block_.tiles); }
  /// Whether several tasks read the points of a window: then all windows become points first.
  bool SharesInputs() const { return column_tasks_ > 1; }

  int64_t FilterElements() const { return panels_.elements(block_.from_taps); }
  /// Points of the windows: [slice][point][tile][channel of the slice].
  int64_t InputStride() const { return PointStride(block_.tiles * slice_); }
  int64_t SliceElements() const { return form_.points() * InputStride(); }
  /// Those of the results, [point][tile][column].
  int64_t ResultStride() const { return PointStride(block_.tiles * block_.columns); }
  /// Points of a slice of one panel's filters, [point][channel][nr].
  int64_t FilterStride() const { return PointStride(slice_ * kernels_.nr); }

  TilePosition Position(int64_t tile) const {
    const int64_t plane = tile / (tiling_.rows * tiling_.columns);
    const int64_t in_plane = tile % (tiling_.rows * tiling_.columns);
    return {plane / volume_.out[0], plane % volume_.out[0],
            in_plane / tiling_.columns * form_.outputs, in_plane % tiling_.columns * form_.outputs};
  }
  /// The first output pixel's number in its image or volume.
  int64_t Pixel(const TilePosition& at) const {
    return (at.plane * g_.out[1] + at.row) * g_.out[2] + at.column;
  }

  /// Where channel `channel` of the input of an output plane begins: null in the padding.
  const float* PlaneOf(const CpuLaunch& args, const TilePosition& at, int64_t channel) const {
    const int64_t plane =
        at.plane * volume_.stride[0] - volume_.pad[0] + channel / volume_.ic * volume_.dilation[0];
    if (plane < 0 || plane >= volume_.in[0]) return nullptr;
    const int64_t first = plane * g_.in[1] * g_.in[2];
    return args.inputs[input_].host<float>() + in_.Offset(at.image, first, channel % volume_.ic);
  }

  /// The window of tile `t` of a block, as many channels at a time as lie side by side in a slice.
  void TransformWindow(const Block& block, int64_t t) const {
    const TilePosition at = Position(block.begin + t);
    const float* zeros = block.args.At(zeros_);
    const int n = form_.inputs();
    // Channels of several planes come in whole vectors.
    const int64_t run = std::min(in_.block, volume_.ic);
    for (int64_t channel = 0, step = 0; channel < g_.ic; channel += step) {
      step = std::min(run - channel % run, slice_ - channel % slice_);
      const float* plane = PlaneOf(block.args, at, channel);
      const float* pixels[kMaxWinogradPoints];
      for (int i = 0; i < n; ++i) {
        const int64_t y = at.row - g_.pad[1] + i;
        for (int j = 0; j < n; ++j) {
          const int64_t x = at.column - g_.pad[2] + j;
          const bool inside = plane != nullptr && y >= 0 && y < g_.in[1] && x >= 0 && x < g_.in[2];
          pixels[i * n + j] = inside ? plane + (y * g_.in[2] + x) * in_.block : zeros;
        }
      }
      float* out = block.inputs + channel / slice_ * SliceElements() + t * slice_;
      form_.input({pixels, std::min(step, g_.ic - channel), out + channel % slice_, InputStride()});
    }
  }

  void TransformAll(const CpuLaunch& args, const elementwise::Binding& binding) const {
    const int64_t step = CeilDiv(tiling_.count, int64_t{kWindowTasks} * lanes());
    args.stream.ParallelFor(CeilDiv(tiling_.count, step), [&](int64_t task, int lane) {
      const int64_t end = std::min((task + 1) * step, tiling_.count);
      for (int64_t tile = task * step; tile < end; ++tile) {
        const Block block = BlockOf(args, binding, tile / block_.tiles, lane);
        TransformWindow(block, tile - block.begin);
      }
    });
  }

  void RunTask(const Block& block, int64_t column, int64_t end) const {
    for (; column < end; column += block_.columns) {
      const int64_t columns = std::min(block_.columns, end - column);
      if (block_.from_taps) {
        MultiplyTaps(block, column, columns);
      } else {
        const float* points = block.args.packed[0].host<float>() + column * g_.ic;
        Multiply(block, {0, g_.ic}, {points, panels_.point_elements()}, 0, columns);
      }
      Finish(block, column, columns);
    }
  }

  /// Input channels [begin, begin + count), of one slice.
  struct Channels {
    int64_t begin, count;
  };
  /// The points of filters, `stride` elements apart, and the taps that are read next; or null.
  struct Points {
    const float* first;
    int64_t stride;
    const float* next_taps = nullptr;
  };

  /// A slice's rows pass over all panels before the next slice's do.
  void MultiplyTaps(const Block& block, int64_t column, int64_t columns) const {
    const int64_t nr = kernels_.nr;
    float* points = block.At(filters_);
    for (int64_t c = 0; c < g_.ic; c += slice_) {
      const Channels channels{c, std::min(slice_, g_.ic - c)};
      for (int64_t panel = 0; panel < columns; panel += nr) {
        const float* taps = block.args.packed[0].host<float>() +
                            (column + panel) / nr * panels_.panel_taps() + c * 9 * nr;
        form_.filters({taps, channels.count, nr, points, FilterStride()});
        Multiply(block, channels, {points, FilterStride(), taps + channels.count * 9 * nr}, panel,
                 std::min(nr, columns - panel));
      }
    }
  }

  /// Points of all tiles, from column `first` of the round on.
  void Multiply(const Block& block, const Channels& channels, const Points& points, int64_t first,
                int64_t columns) const {
    const float* inputs = block.inputs + channels.begin / slice_ * SliceElements();
    BlockArgs work;
    work.depth = channels.count;
    work.columns = columns;
    work.c_stride = block_.columns;
    for (int64_t p = 0; p < form_.points(); ++p) {
      const EvenRows rows{inputs + p * InputStride(), slice_};
      float* c = block.At(results_) + p * ResultStride() + first;
      work.b = points.first + p * points.stride;
      if (channels.begin > 0) work.addend = c;
      if (points.next_taps != nullptr) {
        // These points are near: rows of the next two, and taps of later ones, come from afar.
        const int64_t share = CeilDiv(18 * kernels_.nr, form_.points());
        const bool rows_next = p % 2 == 0;
        work.ahead = rows_next ? rows.first + InputStride()
                               : points.next_taps + p / 2 * share * channels.count;
        work.ahead_step = rows_next ? 2 * block.tiles : share;
      }
      work.tiles = CutTiles(kernels_.mr, rows, block.tiles, c, block_.columns, block.At(pointers_),
                            block.At(spans_));
      RunBlock(kernels_, work);
    }
  }

  void Finish(const Block& block, int64_t column, int64_t columns) const {
    const float* bias = block.args.packed[0].host<float>() + FilterElements();
    auto* y = block.args.outputs[0].host<float>();
    WinogradOutput output;
    output.point_stride = ResultStride();
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
        output.in = block.At(results_) + t * block_.columns + (c - column);
        output.bias = bias + c;
        output.out = y + out_.Offset(at.image, Pixel(at), c);
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
        const int64_t pixel = Pixel(at) + r * g_.out[2];
        FinishPixels(epilogue_, block.binding, out_, {at.image, pixel, width, column, columns},
                     block.args.outputs[0].host<float>());
      }
      t += run;
    }
  }

  ConvOperands operands_;
  size_t input_;
  ConvGeometry volume_, g_;
  PixelLayout in_, out_;  // out_: of the tensor that the output is a window of, where it is one
  WinogradTiling tiling_;
  const MicroKernels& kernels_;
  WinogradForm form_;
  Epilogue epilogue_;
  WinogradBlock block_;
  WinogradPanels panels_;
  int64_t padded_ic_, task_columns_ = 0, column_tasks_ = 0;
  int64_t slice_;  // input channels whose points lie together
  RunScratch<float> zeros_, all_inputs_;
  LaneScratch<float> results_, filters_, inputs_;
  LaneScratch<const float*> pointers_;
  LaneScratch<TileSpan> spans_;
};

}  // namespace

std::unique_ptr<PreparedKernel> MakeConvWinograd(const Problem& problem,
                                                 const ConvOperands& operands,
                                                 const WinogradProblem& p, Epilogue epilogue,
                                                 const WinogradBlock& block) {
  return std::make_unique<ConvWinograd>(problem, operands, p, std::move(epilogue), block);
}

}  // namespace fettle::kernels
