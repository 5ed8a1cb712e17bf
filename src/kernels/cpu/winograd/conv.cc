// cpu.conv.winograd43.nhwc: 3x3 convolutions of stride 1 by F(4x4, 3x3): windows to points, one
// small product a point, points to tiles; a block of tiles at a time, in the second-level cache.
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
constexpr int64_t kLeastChannels = 16;
/// Fewer tiles do not pay for streaming filters of four times the size.
constexpr int64_t kLeastTiles = 24;

/// The output cut into tiles of 4x4 pixels, row by row, image by image.
struct Tiling {
  int64_t rows = 0, columns = 0, count = 0;
};

Tiling TilesOf(const ConvGeometry& g) {
  Tiling tiling{CeilDiv(g.out[1], kWinogradOutputs), CeilDiv(g.out[2], kWinogradOutputs), 0};
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
  if (std::min(g.ic, g.oc) < kLeastChannels) {
    return Unsupported("fewer than {} channels", kLeastChannels);
  }
  if (TilesOf(g).count < kLeastTiles) return Unsupported("fewer than {} tiles", kLeastTiles);
  return OkStatus();
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  RETURN_IF_ERROR(ReadConvOperands(group, "Conv").status());
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  RETURN_IF_ERROR(CheckGeometry(g));
  ASSIGN_OR_RETURN(StateAssignment states, ChannelsLastStates(group));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// How much one lane works on at a time.
struct BlockSize {
  int64_t tiles = 0;
  int64_t columns = 0;  // output channels per round, a multiple of nr
};

BlockSize ChooseBlock(const CpuInfo& info, const MicroKernels& kernels, const ConvGeometry& g,
                      int threads) {
  // Points of the inputs take half of the second-level cache, points of the results a quarter.
  const int64_t l2 = info.l2_bytes > 0 ? info.l2_bytes : 512 * 1024;
  const int64_t point_bytes = kWinogradPoints * int64_t{4};
  const int64_t most =
      std::max<int64_t>(kernels.mr, l2 / 2 / (point_bytes * g.ic) / kernels.mr * kernels.mr);
  const int64_t tiles = TilesOf(g).count;
  int64_t blocks = CeilDiv(tiles, most);
  if (blocks < int64_t{4} * threads) blocks = RoundUp(blocks, threads);
  BlockSize block;
  block.tiles = CeilDiv(tiles, blocks);
  const int64_t columns = l2 / 4 / (point_bytes * block.tiles) / kernels.nr * kernels.nr;
  block.columns = std::clamp<int64_t>(columns, kernels.nr, RoundUp(g.oc, kernels.nr));
  return block;
}

class ConvWinograd final : public PreparedKernel {
 public:
  ConvWinograd(const Problem& problem, const ConvOperands& operands, const ConvGeometry& geometry,
               Epilogue epilogue, const BlockSize& block, int lanes)
      : operands_(operands),
        input_(static_cast<size_t>(IndexOf(problem.group->inputs, operands.x))),
        g_(geometry),
        tiling_(TilesOf(geometry)),
        kernels_(GetMicroKernels()),
        transforms_(GetWinogradTransforms()),
        epilogue_(std::move(epilogue)),
        block_(block),
        lanes_(lanes),
        padded_oc_(RoundUp(geometry.oc, kernels_.nr)),
        padded_ic_(RoundUp(geometry.ic, 16)) {}

  std::vector<PackRequest> packs() const override {
    PackRequest request;
    request.constants = {operands_.w};
    if (operands_.b != ir::kAbsent) request.constants.push_back(operands_.b);
    request.recipe = fmt::format("conv.winograd43.nr{}.f32{}", kernels_.nr,
                                 operands_.b == ir::kAbsent ? "" : ".bias");
    request.bytes = (kWinogradPoints * PointElements() + padded_oc_) * 4;
    request.pack = [*this](std::span<const Constant* const> constants, std::byte* out) {
      auto* points = reinterpret_cast<float*>(out);
      PackFilters(*constants[0], points);
      PackBias(constants.size() > 1 ? constants[1] : nullptr, 0, g_.oc, padded_oc_, 1,
               points + kWinogradPoints * PointElements());
      return OkStatus();
    };
    std::vector<PackRequest> all{std::move(request)};
    epilogue_.AppendPacks(all);
    return all;
  }

  int64_t workspace_bytes() const override { return ZeroBytes() + lanes_ * LaneBytes(); }

  Status Launch(const LaunchArgs& args) const override {
    std::memset(args.workspace.host<std::byte>(), 0, static_cast<size_t>(ZeroBytes()));
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    static_cast<CpuStream&>(args.stream)
        .ParallelFor(CeilDiv(tiling_.count, block_.tiles), [&](int64_t task, int lane) {
          const int64_t begin = task * block_.tiles;
          RunBlockOfTiles(args, binding, begin, std::min(block_.tiles, tiling_.count - begin),
                          lane);
        });
    return OkStatus();
  }

 private:
  struct TilePosition {
    int64_t image, row, column;  // first output pixel
  };

  /// Packed floats of one point: panels of nr filters, [panel][ic][nr].
  int64_t PointElements() const { return padded_oc_ * g_.ic; }
  int64_t ZeroBytes() const { return RoundUp(padded_ic_ * 4 + 64, 64); }
  int64_t InputBytes() const { return kWinogradPoints * block_.tiles * padded_ic_ * 4; }
  int64_t ResultBytes() const { return kWinogradPoints * block_.tiles * block_.columns * 4; }
  int64_t PointerBytes() const {
    return RoundUp(block_.tiles * static_cast<int64_t>(sizeof(float*)), 64);
  }
  int64_t SpanBytes() const {
    return RoundUp(CeilDiv(block_.tiles, kernels_.mr) * static_cast<int64_t>(sizeof(TileSpan)), 64);
  }
  int64_t LaneBytes() const {
    return InputBytes() + ResultBytes() + PointerBytes() + SpanBytes() + 64;
  }

  void PackFilters(const Constant& weights, float* points) const {
    const int64_t nr = kernels_.nr, row = g_.ic * 9;
    std::vector<float> rows(static_cast<size_t>(nr * row)), taps(static_cast<size_t>(9 * nr));
    for (int64_t first = 0; first < padded_oc_; first += nr) {
      const int64_t filters = std::min(nr, g_.oc - first);
      std::fill(rows.begin(), rows.end(), 0.0f);
      ReadFloats(weights, first * row, filters * row, rows.data());
      for (int64_t c = 0; c < g_.ic; ++c) {
        for (int64_t t = 0; t < 9; ++t) {
          for (int64_t i = 0; i < nr; ++i) {
            taps[static_cast<size_t>(t * nr + i)] = rows[static_cast<size_t>(i * row + c * 9 + t)];
          }
        }
        TransformWinogradFilters(taps.data(), nr, points + first * g_.ic + c * nr, PointElements());
      }
    }
  }

  TilePosition Position(int64_t tile) const {
    const int64_t in_image = tile % (tiling_.rows * tiling_.columns);
    return {tile / (tiling_.rows * tiling_.columns), in_image / tiling_.columns * kWinogradOutputs,
            in_image % tiling_.columns * kWinogradOutputs};
  }

  void TransformWindow(const LaunchArgs& args, int64_t tile, float* out) const {
    const TilePosition at = Position(tile);
    const auto* zeros = args.workspace.host<float>();
    const float* image = args.inputs[input_].host<float>() + at.image * g_.in[1] * g_.in[2] * g_.ic;
    const float* pixels[kWinogradPoints];
    for (int64_t i = 0; i < kWinogradInputs; ++i) {
      const int64_t y = at.row - g_.pad[1] + i;
      for (int64_t j = 0; j < kWinogradInputs; ++j) {
        const int64_t x = at.column - g_.pad[2] + j;
        const bool inside = y >= 0 && y < g_.in[1] && x >= 0 && x < g_.in[2];
        pixels[i * kWinogradInputs + j] = inside ? image + (y * g_.in[2] + x) * g_.ic : zeros;
      }
    }
    transforms_.input({pixels, g_.ic, out, block_.tiles * padded_ic_});
  }

  void RunBlockOfTiles(const LaunchArgs& args, const elementwise::Binding& binding, int64_t begin,
                       int64_t tiles, int lane) const {
    std::byte* scratch = args.workspace.host<std::byte>() + ZeroBytes() + lane * LaneBytes();
    auto* inputs = reinterpret_cast<float*>(scratch);
    auto* results = reinterpret_cast<float*>(scratch + InputBytes());
    auto* pointers = reinterpret_cast<const float**>(scratch + InputBytes() + ResultBytes());
    for (int64_t t = 0; t < tiles; ++t) TransformWindow(args, begin + t, inputs + t * padded_ic_);
    for (int64_t column = 0; column < g_.oc; column += block_.columns) {
      const int64_t columns = std::min(block_.columns, g_.oc - column);
      Multiply(args, inputs, pointers, tiles, column, columns, results);
      Finish(args, binding, begin, tiles, column, columns, results);
    }
  }

  void Multiply(const LaunchArgs& args, const float* inputs, const float** pointers, int64_t tiles,
                int64_t column, int64_t columns, float* results) const {
    auto* spans =
        reinterpret_cast<TileSpan*>(reinterpret_cast<std::byte*>(pointers) + PointerBytes());
    BlockArgs block;
    block.depth = g_.ic;
    block.columns = columns;
    block.c_stride = block_.columns;
    for (int64_t p = 0; p < kWinogradPoints; ++p) {
      FillRowPointers(inputs + p * block_.tiles * padded_ic_, padded_ic_, tiles, pointers);
      block.b = args.packed[0].host<float>() + p * PointElements() + column * g_.ic;
      block.tiles = CutTiles(kernels_.mr, pointers, tiles, 1,
                             results + p * block_.tiles * block_.columns, block_.columns, spans);
      RunBlock(kernels_, block);
    }
  }

  void Finish(const LaunchArgs& args, const elementwise::Binding& binding, int64_t begin,
              int64_t tiles, int64_t column, int64_t columns, const float* results) const {
    WinogradOutput output;
    output.point_stride = block_.tiles * block_.columns;
    output.bias = args.packed[0].host<float>() + kWinogradPoints * PointElements() + column;
    output.low = epilogue_.clamp().low;
    output.high = epilogue_.clamp().high;
    output.channels = columns;
    output.row_stride = g_.out[2] * g_.oc;
    output.pixel_stride = g_.oc;
    for (int64_t t = 0; t < tiles; ++t) {
      const TilePosition at = Position(begin + t);
      const int64_t pixel = (at.image * g_.out[1] + at.row) * g_.out[2] + at.column;
      output.in = results + t * block_.columns;
      output.out = args.outputs[0].host<float>() + pixel * g_.oc + column;
      output.rows = std::min<int64_t>(kWinogradOutputs, g_.out[1] - at.row);
      output.columns = std::min<int64_t>(kWinogradOutputs, g_.out[2] - at.column);
      transforms_.output(output);
    }
    RunEpilogue(args, binding, begin, tiles, column, columns);
  }

  /// Neighbouring tiles of one row of tiles share their pixel rows.
  void RunEpilogue(const LaunchArgs& args, const elementwise::Binding& binding, int64_t begin,
                   int64_t tiles, int64_t column, int64_t columns) const {
    for (int64_t t = 0; t < tiles;) {
      const TilePosition at = Position(begin + t);
      const int64_t run = std::min(tiles - t, tiling_.columns - at.column / kWinogradOutputs);
      const int64_t width = std::min(run * kWinogradOutputs, g_.out[2] - at.column);
      const int64_t height = std::min<int64_t>(kWinogradOutputs, g_.out[1] - at.row);
      for (int64_t r = 0; r < height; ++r) {
        elementwise::Tile tile{.rows = width, .col = column, .cols = columns};
        tile.row = (at.image * g_.out[1] + at.row + r) * g_.out[2] + at.column;
        tile.running = args.outputs[0].host<float>() + tile.row * g_.oc + column;
        tile.running_stride = g_.oc;
        epilogue_.Run(binding, tile);
      }
      t += run;
    }
  }

  ConvOperands operands_;
  size_t input_;
  ConvGeometry g_;
  Tiling tiling_;
  const MicroKernels& kernels_;
  const WinogradTransforms& transforms_;
  Epilogue epilogue_;
  BlockSize block_;
  int lanes_;
  int64_t padded_oc_, padded_ic_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device& device) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(*problem.group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(*problem.group, problem.node()));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  const BlockSize block = ChooseBlock(cpu.info(), GetMicroKernels(), g, problem.threads);
  return std::unique_ptr<PreparedKernel>(
      new ConvWinograd(problem, operands, g, std::move(epilogue), block, cpu.pool().threads()));
}

}  // namespace

extern const KernelDesc kCpuConvWinograd43Nhwc;
const KernelDesc kCpuConvWinograd43Nhwc = {.name = "cpu.conv.winograd43.nhwc",
                                           .preference = 12,
                                           .candidates = Candidates,
                                           .prepare = Prepare};

}  // namespace fettle::kernels
