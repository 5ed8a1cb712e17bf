// opencl.binary.product: BinaryConv and BinaryMatMul, with the element-wise operators and PackBits
// that follow them: results leave as floats, as bits, or as both.
#include <algorithm>

#include "kernels/opencl/binary/pixel_bits.h"
#include "kernels/opencl/conv/tile.h"

namespace fettle::kernels {
namespace {

/// Large tiles read least; small ones keep all units busy. Compilers for CPUs build each tile and
/// each work-group again: few of them.
TileShape UsualBitTile(const PixelBits& facts, const OpenClFacts& device) {
  TileShape tile{.quads = facts.conv.oc > 8 || device.is_cpu ? 4 : 2, .columns = 4};
  if (!facts.TakesQuads(tile.quads)) tile.quads = facts.TakesQuads(2) ? 2 : 1;
  if (device.is_cpu) return tile;
  const auto items = [&] {
    return facts.conv.batch * facts.conv.out[1] * DivideUp(facts.conv.out[2], tile.columns) *
           DivideUp(facts.conv.oc, tile.lanes());
  };
  const int64_t wanted = int64_t{device.compute_units} * 128;
  while (tile.columns > 1 && (items() < wanted || facts.conv.out[2] < tile.columns))
    tile.columns /= 2;
  if (items() < wanted && facts.TakesQuads(2)) tile.quads = std::min<int64_t>(tile.quads, 2);
  SetGroup(PlaceSizes(facts.conv.out[1] * DivideUp(facts.conv.out[2], tile.columns),
                      DivideUp(facts.conv.oc, tile.lanes())),
           device, tile);
  return tile;
}

ParamSpace Space(const Problem&, const PixelBits& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  ParamSpace space = GroupedSpace<kTileFields>(UsualBitTile(facts, of), device);
  std::erase_if(space.tunables[0].values, [&](int64_t quads) { return !facts.TakesQuads(quads); });
  kBitFields.AppendTunables(space.tunables);
  const bool counts_halves = of.family == "adreno", has_slow_counts = of.family == "mali";
  kBitFields.Write({counts_halves ? 1 : has_slow_counts && of.int8_dot ? 2 : 0}, space.usual);
  return space;
}

BuildOptions OptionsOf(const PixelBits& facts, const BitCounts& counts, const TileShape& tile,
                       const State& like, const OpenClFacts& device) {
  BuildOptions options = TileOptions(tile, like);
  DefineBitResults(facts, counts, options);
  options.Define("PTX", device.mma.available && !device.mma.emulated ? 1 : 0);
  return options.Define("UNPACKED_HALF", device.fp16_compute ? 1 : 0);
}

/// The filter and all numbers.
void AppendNumbers(const PixelBits& facts, const BitCounts& counts, const BitFilter& filter,
                   int64_t lanes, RecordedLaunch& launch) {
  const PixelConv& conv = facts.conv;
  const int64_t words = facts.product.words();
  launch.Packed(0, 4);
  launch.Value(Int4(facts.product.groups * words, conv.in[1], conv.in[2], conv.batch));
  launch.Value(Int4(DivideUp(conv.oc, 4), conv.out[1], conv.out[2], conv.batch));
  launch.Value(WindowArg(conv)).Value(BordersArg(conv));
  launch.Value(Int4(words, facts.product.channels, facts.group_outputs(), conv.oc));
  launch.Value(Int2(filter.ones_at(), filter.weights_at())).Int(filter.padded());
  launch.Int(ops::WordsOf(conv.oc) * ops::kWordBits / lanes);
  launch.Int(facts.product.pad_bit ? int64_t{*facts.product.pad_bit} : -1);
  const auto& f = counts.factors;
  launch.Value(Int4(f[0], f[1], f[2], f[3])).Value(PackingArg(facts.tail.packing));
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelBits& facts,
                                                const Params& params, const Device& device) {
  const TileShape tile = kTileFields.Read(params);
  const BitForm form = kBitFields.Read(params);
  const PixelConv& conv = facts.conv;
  const BitFilter filter{.form = form.form,
                         .lanes = tile.lanes(),
                         .blocks = DivideUp(facts.stored_outputs(), tile.lanes()),
                         .taps = conv.taps(),
                         .words = facts.product.words(),
                         .result = facts.result};
  const BitCounts counts = CountsOf(facts, facts.numbers(*problem.group), facts.result, form.form);
  const State like = FloatsBeside(problem, facts.product.is_conv, device);
  BuildOptions options = OptionsOf(facts, counts, tile, like, AsOpenCl(device).facts());
  kBitFields.Define(form, options);
  auto made = std::make_unique<RecordedKernel>();
  if (!facts.to_bits) {
    ASSIGN_OR_RETURN(made->expression,
                     CompileBitTail(*problem.group, facts.tail, problem.states, like));
  }
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("binary/product.cl", options, made->expression.text()), "binary_product"));
  RecordedLaunch launch(std::move(kernel),
                        RowTileSizes(conv, tile.columns, filter.blocks, GroupOf(tile)));
  AppendBitOperands(problem, facts, like, tile.lanes(), launch);
  AppendNumbers(facts, counts, filter, tile.lanes(), launch);
  made->recorded.push_back(std::move(launch));
  made->own_packs.push_back(RequestBitFilter(facts, filter));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PixelBits> kFamily{.read = ReadPixelBits,
                                    .states = PixelBitStates,
                                    .prepare = Prepare,
                                    .params = Space,
                                    .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClBinaryProduct;
const KernelDesc kOpenClBinaryProduct = {.name = "opencl.binary.product",
                                         .arithmetic = Arithmetic::kBits,
                                         .match = MatchAs<kFamily>,
                                         .parameters = ParametersOf<kTileFields, kBitFields>};

}  // namespace fettle::kernels
