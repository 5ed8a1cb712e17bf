#include "kernels/cpu/winograd/conv_kernel.h"

#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/winograd/transform.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

/// The output channels of one task, in whole panels.
int64_t TaskColumns(const WinogradBlock& block, int64_t oc, int nr) {
  return CeilDiv(CeilDiv(oc, nr), block.column_tasks) * nr;
}

void PackFilters(const WinogradForm& form, const Constant& weights, int64_t oc, int64_t ic,
                 int64_t nr, float* points) {
  const int64_t row = ic * 9, padded_oc = RoundUp(oc, nr);
  std::vector<float> rows(nr * row), taps(9 * nr);
  for (int64_t first = 0; first < padded_oc; first += nr) {
    const int64_t filters = std::min(nr, oc - first);
    std::fill(rows.begin(), rows.end(), 0.0f);
    ReadFloats(weights, first * row, filters * row, rows.data());
    for (int64_t c = 0; c < ic; ++c) {
      for (int64_t t = 0; t < 9; ++t) {
        for (int64_t i = 0; i < nr; ++i) {
          taps[t * nr + i] = rows[i * row + c * 9 + t];
        }
      }
      form.filters(taps.data(), nr, points + first * ic + c * nr, padded_oc * ic);
    }
  }
}

class ConvWinograd final : public PreparedKernel {
 public:
  ConvWinograd(const Problem& problem, const ConvOperands& operands, const WinogradProblem& p,
               Epilogue epilogue, const WinogradBlock& block, int lanes)
      : operands_(operands),
        input_(IndexOf(problem.group->inputs, operands.x)),
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
    std::memset(args.workspace.host<std::byte>(), 0, ZeroBytes());
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
  WinogradTiling tiling_;
  const MicroKernels& kernels_;
  WinogradForm form_;
  Epilogue epilogue_;
  WinogradBlock block_;
  int lanes_;
  int64_t padded_oc_, padded_ic_, task_columns_;
};

}  // namespace

WinogradTiling TilesOf(const ConvGeometry& g, int outputs) {
  WinogradTiling tiling{CeilDiv(g.out[1], outputs), CeilDiv(g.out[2], outputs), 0};
  tiling.count = g.batch * tiling.rows * tiling.columns;
  return tiling;
}

std::unique_ptr<PreparedKernel> MakeConvWinograd(const Problem& problem,
                                                 const ConvOperands& operands,
                                                 const WinogradProblem& p, Epilogue epilogue,
                                                 const WinogradBlock& block, int lanes) {
  return std::make_unique<ConvWinograd>(problem, operands, p, std::move(epilogue), block, lanes);
}

}  // namespace fettle::kernels
