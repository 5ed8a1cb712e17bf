// compiled: small
// cpu.quantised.conv.winograd23: 3x3 convolutions of bytes by F(2x2, 3x3) in whole numbers
// (winograd_tile.h), whose products are those of widened bytes: for CPUs of AVX2 that have no dot
// products of bytes.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cpu/product/tasks.h"
#include "kernels/cpu/quantised/gemm_problem.h"
#include "kernels/cpu/quantised/padded_rows.h"
#include "kernels/cpu/quantised/results.h"
#include "kernels/cpu/quantised_avx2/winograd_tile.h"
#include "kernels/family.h"

namespace fettle::kernels {

void PackWinograd(const QuantLayout& layout, const QuantConstants& constants, std::byte* blob) {
  constexpr int kTwice[4][3] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};
  std::memset(blob, 0, layout.zeros_offset());
  std::vector<std::byte> bytes(layout.ic * 9);
  for (int64_t o = 0; o < layout.oc; ++o) {
    constants.w->CopyTo(o * std::ssize(bytes), std::ssize(bytes), bytes.data());
    const int32_t zero = constants.Zero(o);
    std::byte* const column = blob + o / layout.nr * layout.panel_bytes() + o % layout.nr * 4;
    for (int64_t k = 0; k < layout.ic; ++k) {
      int w[9];
      for (int t = 0; t < 9; ++t) {
        const std::byte byte = bytes[k * 9 + t];
        w[t] = (layout.unsigned_w ? static_cast<int>(byte)
                                  : static_cast<int>(static_cast<int8_t>(byte))) -
               zero;
      }
      for (int64_t p = 0; p < kWinogradPoints; ++p) {
        int sum = 0;
        for (int t = 0; t < 9; ++t) sum += kTwice[p / 4][t / 3] * kTwice[p % 4][t % 3] * w[t];
        const auto point = static_cast<int16_t>(sum);
        std::memcpy(column + (p * layout.steps() + k / 2) * layout.nr * 4 + k % 2 * 2, &point,
                    sizeof(point));
      }
    }
  }
}

namespace {

/// The tiles as pixels of a convolution that reads all 16 pixels of each.
ConvGeometry TilesOf(ConvGeometry g) {
  for (int axis : {1, 2}) {
    g.out[axis] = CeilDiv(g.out[axis], 2);
    g.kernel[axis] = 4;
    g.stride[axis] = 2;
  }
  return g;
}

QuantLayout LayoutOf(const ir::Graph& group, const QuantBytes& bytes) {
  const ConvGeometry tiles = TilesOf(bytes.shapes.g);
  QuantLayout layout;
  layout.oc = tiles.oc;
  layout.ic = tiles.ic;
  layout.kernel_taps = kWinogradPoints;
  layout.kernel_width = 4;
  layout.unsigned_w = group.value(bytes.q.w).dtype == DType::kU8;
  layout.nr = kWinogradColumns;
  layout.wide = layout.winograd = true;
  return layout;
}

Result<QuantBytes> Read(const ir::Graph& group, const Device&) {
  if (!RunsAvx2()) return Unsupported("no vectors of 256 bits (AVX2)");
  const QuantKernels& kernels = GetQuantKernels(kWinogradColumns);
  if (!kernels.wide || !kernels.repeats || kernels.nr != kWinogradColumns)
    return Unsupported("dot products of bytes are faster");
  ASSIGN_OR_RETURN(QuantBytes bytes, ReadQuantBytes(group));
  const ConvGeometry& g = bytes.shapes.g;
  constexpr std::array<int64_t, 3> kOnes{1, 1, 1}, kKernel{1, 3, 3};
  if (!bytes.is_conv() || !g.IsImage() || g.kernel != kKernel || g.stride != kOnes ||
      g.dilation != kOnes)
    return Unsupported("no 3x3 convolution of images");
  if (g.groups != 1) return Unsupported("more than one group");
  if (g.ic > kMostWinogradChannels)
    return Unsupported("more than {} input channels", kMostWinogradChannels);
  if (g.pad[0] != 0 || !PaddedRows::Fit(g))
    return Unsupported("padding of depth, or negative padding");
  const bool flips = group.value(bytes.q.x).dtype == DType::kI8;
  if (g.ic % 16 != 0 && PaddedRows(TilesOf(g), TapPlan(), flips).copy_bytes() == 0)
    return Unsupported("no copy of the input, behind which bytes would be read");
  return bytes;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const QuantBytes& bytes,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, UsualQuantStates(group, bytes));
  return std::vector<StateAssignment>{std::move(states)};
}

class WinogradConv final : public QuantKernel {
 public:
  WinogradConv(QuantProduct p, const QuantLayout& layout, const CpuDevice& device)
      : QuantKernel(p, layout, "winograd23", false, device),
        tiles_(TilesOf(g_)),
        kernels_(*p.kernels),
        rows_(tiles_, TapPlan(), operands_.signed_x()),
        blocks_(tiles_.pixels(), BlockTiles()),
        panels_(layout.panels(), SplitPanels(layout.panels(), blocks_.count(), p.problem.threads)) {
  }

  Status Run(const CpuLaunch& args) const override {
    int32_t* init = args.At(init_);
    const int32_t zero = operands_.InputZero(args) + (operands_.signed_x() ? 128 : 0);
    operands_.FillInit(args, 0, init);
    const auto* x = args.inputs[operands_.input()].host<uint8_t>();
    if (rows_.copy_bytes() > 0) {
      uint8_t* copy = args.At(copy_);
      const auto fill = static_cast<uint8_t>(operands_.InputZero(args));
      rows_.Copy(args.stream, x, operands_.signed_x() ? static_cast<uint8_t>(zero) : fill, copy);
      x = copy;
    }
    const QuantLaunch launch = Begin(args, init);
    args.stream.ParallelFor(blocks_.count() * panels_.count(), [&](int64_t i, int lane) {
      const int64_t block = i / panels_.count(), part = i % panels_.count();
      const int64_t first = blocks_.Begin(block);
      const Block task{
          .launch = launch, .tiles = {first, blocks_.Begin(block + 1) - first}, .lane = lane};
      ReadPoints(task, x, static_cast<int16_t>(zero));
      for (int64_t panel = panels_.Begin(part); panel < panels_.Begin(part + 1); ++panel)
        RunPanel(task, panel);
    });
    results_.End(launch);
    return OkStatus();
  }

 private:
  struct Block {
    const QuantLaunch& launch;
    PixelRange tiles;
    int lane;
    template <typename T>
    T* At(LaneScratch<T> piece) const {
      return launch.args.At(piece, lane);
    }
  };
  /// Pixels of a line that are finished at once.
  static constexpr int64_t kLinePixels = kMaxTileSums / kWinogradColumns;

  // Points are a line further apart than they need be, else they share a set of the cache.
  int64_t RowElements() const { return RoundUp(g_.ic, 16); }
  int64_t PointStep() const { return RoundUp(BlockTiles() * RowElements(), 32) + 32; }
  int64_t SumStep() const { return BlockTiles() * kWinogradColumns + 16; }

  /// Tiles of a block, whose points stay in the second-level cache.
  int64_t BlockTiles() const {
    constexpr int64_t kPointBytes = 256 * 1024;
    const int64_t tiles = kPointBytes / (kWinogradPoints * RowElements() * 2);
    return std::clamp<int64_t>(tiles, 2 * kernels_.mr, 12 * kernels_.mr);
  }

  void ReadPoints(const Block& block, const uint8_t* x, int16_t zero) const {
    const uint8_t** pointers = block.At(pointers_);
    rows_.Find(x, block.tiles, pointers);
    ByteWinogradInput input{.offsets = rows_.tap_offsets().data(),
                            .channels = g_.ic,
                            .zero = zero,
                            .points = block.At(points_),
                            .point_step = PointStep()};
    for (int64_t t = 0; t < block.tiles.rows; ++t, input.points += RowElements()) {
      input.x = pointers[t];
      TransformByteInput(input);
    }
  }

  void RunPanel(const Block& block, int64_t panel) const {
    const QuantLayout& layout = operands_.layout();
    int32_t* const sums = block.At(sums_);
    const int64_t steps = layout.steps();
    const int64_t height = CeilDiv(block.tiles.rows, CeilDiv(block.tiles.rows, kernels_.mr));
    QuantTileArgs tile;
    tile.steps = steps;
    tile.b = block.launch.args.packed[0].host<std::byte>() + panel * layout.panel_bytes();
    tile.a_step = RowElements() * 2;
    for (int64_t p = 0; p < kWinogradPoints; ++p, tile.b += steps * kWinogradColumns * 4) {
      const int16_t* points = block.At(points_) + p * PointStep();
      tile.next_b = tile.b;  // at hand: a fetch of no address would look for its page each time
      // Tiles of full height, then the rest.
      for (int64_t t = 0; t < block.tiles.rows;) {
        const int64_t count = std::min(height, block.tiles.rows - t);
        tile.repeat = (block.tiles.rows - t) / count;
        const auto* row = reinterpret_cast<const std::byte*>(points + t * RowElements());
        tile.a = &row;
        tile.c = sums + p * SumStep() + t * kWinogradColumns;
        kernels_.tile[count](tile);
        t += tile.repeat * count;
      }
    }
    StoreBlock(block, panel, sums);
  }

  void StoreBlock(const Block& block, int64_t panel, const int32_t* sums) const {
    const int64_t across = tiles_.out[2], down = tiles_.out[1];
    int32_t* const upper = block.At(lines_);
    int32_t* const lower = upper + kMaxTileSums;
    for (int64_t t = 0; t < block.tiles.rows;) {
      const int64_t tile = block.tiles.begin + t;
      const int64_t line = tile / across, w = 2 * (tile % across);
      const int64_t count =
          std::min({block.tiles.rows - t, across - tile % across, kLinePixels / 2});
      TransformByteOutput({.points = sums + t * kWinogradColumns,
                           .point_step = SumStep(),
                           .tiles = count,
                           .upper = upper,
                           .lower = lower});
      const int64_t h = 2 * (line % down);
      QuantTile results{.sums = upper,
                        .stride = kWinogradColumns,
                        .rows = std::min(2 * count, g_.out[2] - w),
                        .pixel = (line / down * g_.out[1] + h) * g_.out[2] + w,
                        .panel = panel};
      Store(block.launch, results, block.lane);
      results.sums = lower;
      results.pixel += g_.out[2];
      if (h + 1 < g_.out[1]) Store(block.launch, results, block.lane);
      t += count;
    }
  }

  ConvGeometry tiles_;
  const QuantKernels& kernels_;
  PaddedRows rows_;
  EvenParts blocks_, panels_;
  RunScratch<uint8_t> copy_ = PerRun<uint8_t>(rows_.copy_bytes() + 64);
  LaneScratch<const uint8_t*> pointers_ = PerLane<const uint8_t*>(BlockTiles());
  LaneScratch<int16_t> points_ = PerLane<int16_t>(kWinogradPoints * PointStep());
  LaneScratch<int32_t> sums_ = PerLane<int32_t>(kWinogradPoints * SumStep());
  LaneScratch<int32_t> lines_ = PerLane<int32_t>(2 * kMaxTileSums);
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const QuantBytes& bytes,
                                                const Params& params, const Device& device) {
  const QuantKernels& kernels = GetQuantKernels(kWinogradColumns);
  const QuantCut cut = CutForVectors(problem, bytes, kernels, device);
  ASSIGN_OR_RETURN(QuantProduct product, ReadQuantProduct(problem, bytes, &kernels, cut, params));
  return std::unique_ptr<PreparedKernel>(new WinogradConv(
      std::move(product), LayoutOf(*problem.group, bytes), static_cast<const CpuDevice&>(device)));
}

/// Where tiles are mostly within the picture, points are deep enough to pay for their transforms,
/// and few tiles do not read many weights, which take more than twice their bytes.
int Taste(const QuantBytes& bytes, const Device&) {
  const ConvGeometry& g = bytes.shapes.g;
  const int64_t tiles = TilesOf(g).pixels();
  constexpr int64_t kManyWeights = 128 * 1024, kFewTiles = 32;
  const bool filled = static_cast<double>(4 * tiles) < 1.5 * static_cast<double>(g.pixels());
  const bool far = tiles < kFewTiles && g.ic * g.oc > kManyWeights;
  return filled && !far && tiles >= 5 && g.ic >= 8 && g.oc >= 4 ? 17 : 13;
}

constexpr Family<QuantBytes> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Taste};

}  // namespace

extern const KernelDesc kCpuQuantisedConvWinograd23;
const KernelDesc kCpuQuantisedConvWinograd23 = {.name = "cpu.quantised.conv.winograd23",
                                                .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
