// opencl.binary.mma: products of bits, and what follows them, by matrix instructions (mma.cl).
#include <algorithm>
#include <limits>

#include "kernels/opencl/binary/pixel_bits.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// bm x bn results of a work-group, wm x wn counts of each warp, of which warps_k share a sum.
struct BitTile {
  int64_t bm = 16, bn = 16, wm = 16, wn = 16, warps_k = 1;
  int64_t items() const { return 32 * (bm / wm) * (bn / wn) * warps_k; }
};
constexpr Fields kBitTileFields("binary/mma.cl", Field{"BM", &BitTile::bm, {16, 32, 64, 128}, "BM"},
                                Field{"BN", &BitTile::bn, {16, 32, 64, 128}, "BN"},
                                Field{"WM", &BitTile::wm, {16, 32}, "WM"},
                                Field{"WN", &BitTile::wn, {16, 32, 64}, "WN"},
                                Field{"WARPS_K", &BitTile::warps_k, {1, 2, 4}, "WARPS_K"});

constexpr int64_t kStepWords = 4, kPieceOutputs = 8;

/// Local memory for so many steps, and for the counts (mma.cl).
int64_t StepBytes(const BitTile& tile, int64_t steps) {
  return (tile.bm + tile.bn) * (steps * kStepWords * 8 + 16);
}
int64_t SumBytes(const BitTile& tile) { return tile.warps_k * tile.bm * (tile.bn + 1) * 4; }

int64_t StepsOf(const PixelBits& facts) {
  return DivideUp(facts.conv.taps() * facts.product.words(), kStepWords);
}

/// Steps that lie in local memory at once: all, or a fraction that fits; multiples of warps_k.
int64_t TileSteps(const PixelBits& facts, const BitTile& tile, const OpenClFacts& device) {
  const auto steps_of = [&](int64_t parts) {
    return DivideUp(DivideUp(StepsOf(facts), parts), tile.warps_k) * tile.warps_k;
  };
  int64_t parts = 1;
  while (steps_of(parts) > tile.warps_k &&
         StepBytes(tile, steps_of(parts)) > device.mma.local_bytes)
    ++parts;
  return steps_of(parts);
}

Status CheckBitTile(const PixelBits& facts, const BitTile& tile, const OpenClFacts& device) {
  if (tile.bm % tile.wm != 0 || tile.bn % tile.wn != 0)
    return InvalidArgument("WM, WN: {}x{} do not cut {}x{} evenly", tile.wm, tile.wn, tile.bm,
                           tile.bn);
  const int64_t items = tile.items();
  if (items > device.max_work_group_size)
    return InvalidArgument("work-items: expected at most {}, got {}", device.max_work_group_size,
                           items);
  if (items % tile.bm != 0 || items % tile.bn != 0)
    return InvalidArgument("WARPS_K: {} work-items cannot share the tiles evenly", items);
  const int64_t bytes = std::max(StepBytes(tile, TileSteps(facts, tile, device)), SumBytes(tile));
  if (bytes > device.mma.local_bytes)
    return InvalidArgument("tiles: expected at most {} bytes of local memory, got {}",
                           device.mma.local_bytes, bytes);
  return OkStatus();
}

/// The tile that leaves few units idle in few rounds; small ones read more.
BitTile UsualBitTile(const PixelBits& facts, const OpenClFacts& device) {
  if (device.is_cpu) return {};
  struct Priced {
    BitTile tile;
    int64_t price;
  };
  constexpr Priced kTiles[] = {{{64, 64, 32, 32, 1}, 100},
                               {{32, 64, 16, 32, 1}, 110},
                               {{32, 32, 16, 16, 1}, 125},
                               {{16, 32, 16, 16, 2}, 150},
                               {{16, 16, 16, 16, 4}, 190}};
  BitTile chosen;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const auto& [tile, price] : kTiles) {
    if (!CheckBitTile(facts, tile, device).ok()) continue;
    const int64_t groups = DivideUp(facts.conv.image_pixels(), tile.bm) *
                           DivideUp(facts.stored_outputs(), tile.bn) * facts.conv.batch;
    const int64_t cost = DivideUp(groups, device.compute_units) * tile.bm * tile.bn * price;
    if (cost >= least) continue;
    least = cost;
    chosen = tile;
  }
  return chosen;
}

ParamSpace Space(const Problem&, const PixelBits& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  return {kBitTileFields.Tunables(), kBitTileFields.Write(UsualBitTile(facts, of)),
          [facts, &of](const Params& params) {
            return CheckBitTile(facts, kBitTileFields.Read(params), of);
          }};
}

Result<PixelBits> ReadForMma(const ir::Graph& group, const Device& device) {
  if (!AsOpenCl(device).facts().mma.bits)
    return Unsupported("the device is not known to have matrix instructions for bits");
  ASSIGN_OR_RETURN(PixelBits facts, ReadPixelBits(group, device));
  if (facts.product.groups > 1) return Unsupported("groups: a tile is of one");
  if (facts.result == BitResult::kDoubles) return Unsupported("sums that need double");
  return facts;
}

BuildOptions OptionsOf(const PixelBits& facts, const BitCounts& counts, const BitTile& tile,
                       const State& like, const OpenClFacts& device) {
  const PixelConv& conv = facts.conv;
  BuildOptions options = AccessOptions(like);
  DefineBitResults(facts, counts, options);
  kBitTileFields.Define(tile, options);
  options.Define("EMULATED", device.mma.emulated ? 1 : 0);
  options.Define("TILE_STEPS", TileSteps(facts, tile, device));
  options.Define("KERNEL_W", conv.kernel[2]).Define("TAPS", conv.taps());
  options.Define("STRIDE_H", conv.stride[1]).Define("STRIDE_W", conv.stride[2]);
  options.Define("DILATION_H", conv.dilation[1]).Define("DILATION_W", conv.dilation[2]);
  options.Define("PAD_H", conv.pad[1]).Define("PAD_W", conv.pad[2]);
  options.Define("IN_H", conv.in[1]).Define("IN_W", conv.in[2]);
  options.Define("OUT_H", conv.out[1]).Define("OUT_W", conv.out[2]);
  // One pixel alone may be a part of a longer row, and begin anywhere.
  const int64_t words = facts.product.words();
  const bool is_even = words % 2 == 0 && conv.batch * conv.in[1] * conv.in[2] > 1;
  options.Define("PIXEL_WORDS", words).Define("CHANNELS_IN", facts.product.channels);
  options.Define("PIECE", is_even ? 2 : 1);
  return options.Define("PAD_BIT", facts.product.pad_bit ? int64_t{*facts.product.pad_bit} : -1);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelBits& facts,
                                                const Params& params, const Device& device) {
  const BitTile tile = kBitTileFields.Read(params);
  const PixelConv& conv = facts.conv;
  const BitFilter filter{.form = kBitRowForm,
                         .lanes = kPieceOutputs,
                         .blocks = DivideUp(facts.stored_outputs(), kPieceOutputs),
                         .taps = conv.taps(),
                         .words = facts.product.words(),
                         .result = facts.result};
  const BitCounts counts =
      CountsOf(facts, facts.numbers(*problem.group), facts.result, filter.form);
  const State like = FloatsBeside(problem, facts.product.is_conv, device);
  auto made = std::make_unique<RecordedKernel>();
  if (!facts.to_bits) {
    ASSIGN_OR_RETURN(made->expression,
                     CompileBitTail(*problem.group, facts.tail, problem.states, like));
  }
  const BuildOptions options = OptionsOf(facts, counts, tile, like, AsOpenCl(device).facts());
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("binary/mma.cl", options, made->expression.text()),
                                   "binary_mma"));
  const WorkSizes sizes = GroupSizes(tile.items(), DivideUp(filter.padded(), tile.bn),
                                     DivideUp(conv.image_pixels(), tile.bm), conv.batch);
  RecordedLaunch launch(std::move(kernel), sizes);
  AppendBitOperands(problem, facts, like, kPieceOutputs, launch);
  launch.Packed(0, 4);
  launch.Value(Int4(DivideUp(conv.oc, 4), conv.out[1], conv.out[2], conv.batch)).Int(conv.oc);
  launch.Value(Int2(filter.ones_at(), filter.weights_at())).Int(filter.padded());
  launch.Int(ops::WordsOf(conv.oc) * ops::kWordBits / kPieceOutputs);
  const auto& f = counts.factors;
  launch.Value(Int4(f[0], f[1], f[2], f[3])).Value(PackingArg(facts.tail.packing));
  made->recorded.push_back(std::move(launch));
  made->own_packs.push_back(RequestBitFilter(facts, filter));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

/// Tiles have 16 rows of pixels.
int Taste(const PixelBits& facts, const Device&) {
  return facts.conv.image_pixels() * facts.conv.oc >= 16 * 16 ? 12 : 2;
}

constexpr Family<PixelBits> kMmaFamily{.read = ReadForMma,
                                       .states = PixelBitStates,
                                       .prepare = Prepare,
                                       .params = Space,
                                       .taste = Taste};

}  // namespace

extern const KernelDesc kOpenClBinaryMma;
const KernelDesc kOpenClBinaryMma = {.name = "opencl.binary.mma",
                                     .arithmetic = Arithmetic::kBits,
                                     .match = MatchAs<kMmaFamily>,
                                     .parameters = ParametersOf<kBitTileFields>};

}  // namespace fettle::kernels
