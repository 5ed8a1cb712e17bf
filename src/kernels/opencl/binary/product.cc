// opencl.binary.product: BinaryConv and BinaryMatMul, with the element-wise operators and PackBits
// that follow them: results leave as floats, as bits, or as both.
#include <algorithm>

#include "kernels/opencl/binary/bit_filter.h"
#include "kernels/opencl/binary/bit_states.h"
#include "kernels/opencl/conv/tile.h"

namespace fettle::kernels {
namespace {

struct Facts : BitProduct {
  PixelConv conv;  // rows of a matrix are the pixels of one line
  BitResult result = BitResult::kScaled;

  /// Bits leave in pieces of 8 or 16.
  bool leaves_bits() const { return to_bits || tail.packs_bits(); }
  int64_t group_outputs() const { return product.outputs / product.groups; }
  bool TakesQuads(int64_t quads) const {
    if (leaves_bits() && quads < 2) return false;
    return product.groups == 1 || group_outputs() % (4 * quads) == 0;
  }
  const Constant& numbers(const ir::Graph& group) const { return *group.value(results).constant; }
};

Result<PixelConv> GeometryOf(const ops::BinaryProduct& product) {
  PixelConv conv;
  conv.ic = product.groups * product.channels;
  conv.oc = product.outputs;
  conv.groups = product.groups;
  if (!product.is_conv) {
    conv.in[2] = conv.out[2] = product.images;
    return conv;
  }
  conv.batch = product.images;
  const auto rank = static_cast<size_t>(product.spatial_rank());
  if (rank > 2) return Unsupported("{} spatial axes", rank);
  for (size_t i = 0; i < rank; ++i) {
    const size_t to = 3 - rank + i;
    conv.in[to] = product.in[static_cast<int>(i)];
    conv.out[to] = product.out[static_cast<int>(i)];
    conv.kernel[to] = product.kernel[i];
    conv.stride[to] = product.strides[i];
    conv.dilation[to] = product.dilations[i];
    conv.pad[to] = product.pad_begin[i];
  }
  return conv;
}

Result<Facts> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(BitProduct read, ReadBitProduct(group));
  Facts facts{std::move(read), {}, {}};
  ASSIGN_OR_RETURN(facts.conv, GeometryOf(facts.product));
  RETURN_IF_ERROR(CheckCounts(*group.value(facts.x).shape, *group.value(facts.w).shape,
                              *group.value(facts.tail.anchor).shape));
  if (!facts.TakesQuads(facts.leaves_bits() ? 2 : 1))
    return Unsupported("{} outputs of a group do not fill blocks", facts.group_outputs());
  facts.result = BitResultOf(facts, facts.numbers(group));
  if (facts.result == BitResult::kDoubles && !AsOpenCl(device).facts().HasExtension("cl_khr_fp64"))
    return Unsupported("sums that only double holds, and the device has none");
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device& device) {
  std::vector<StateAssignment> all;
  for (const State& form : facts.product.is_conv ? PixelStates(device) : RowStates()) {
    StateAssignment states = StatesBeside(group, form);
    if (all.empty() && !facts.to_bits)
      RETURN_IF_ERROR(CompileBitTail(group, facts.tail, states, form).status());
    if (std::find(all.begin(), all.end(), states) == all.end()) all.push_back(std::move(states));
  }
  return all;
}

/// Large tiles read least; small ones keep all units busy. Compilers for CPUs build each tile and
/// each work-group anew: few of them.
TileShape UsualBitTile(const Facts& facts, const OpenClFacts& device) {
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
           tile);
  return tile;
}

ParamSpace Space(const Problem&, const Facts& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  ParamSpace space = GroupedSpace<kTileFields>(UsualBitTile(facts, of), device);
  std::erase_if(space.tunables[0].values, [&](int64_t quads) { return !facts.TakesQuads(quads); });
  kBitFields.AppendTunables(space.tunables);
  const bool counts_halves = of.family == "adreno", has_slow_counts = of.family == "mali";
  kBitFields.Write({counts_halves ? 1 : has_slow_counts && of.int8_dot ? 2 : 0}, space.usual);
  return space;
}

BuildOptions OptionsOf(const Facts& facts, const BitCounts& counts, const TileShape& tile,
                       const State& like, const OpenClFacts& device) {
  BuildOptions options = TileOptions(tile, like);
  options.Define("RESULT", static_cast<int64_t>(facts.result));
  options.Define("ROWS", facts.product.is_conv ? 0 : 1);
  options.Define("FLOATS", !facts.to_bits && facts.tail.stores_floats() ? 1 : 0);
  options.Define("BITS", facts.leaves_bits() ? 1 : 0);
  options.Define("AND", counts.ands ? 1 : 0);
  options.Define("X_ONES", counts.x_ones ? 1 : 0).Define("W_ONES", counts.w_ones ? 1 : 0);
  options.Define("PTX", device.mma.available && !device.mma.emulated ? 1 : 0);
  return options.Define("UNPACKED_HALF", device.fp16_compute ? 1 : 0);
}

/// The filter and all numbers.
void AppendNumbers(const Facts& facts, const BitCounts& counts, const BitFilter& filter,
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

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params& params, const Device& device) {
  const TileShape tile = kTileFields.Read(params);
  const BitForm form = kBitFields.Read(params);
  const PixelConv& conv = facts.conv;
  const int64_t outputs = facts.leaves_bits() ? ops::WordsOf(conv.oc) * ops::kWordBits : conv.oc;
  const BitFilter filter{.form = form.form,
                         .lanes = tile.lanes(),
                         .blocks = DivideUp(outputs, tile.lanes()),
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
  launch.Input(InputIndex(*problem.group, facts.x), 8);
  if (!facts.to_bits && facts.tail.stores_floats())
    launch.Output(facts.tail.float_output,
                  StorageBytes(like.storage, facts.product.is_conv ? 4 : 1));
  if (facts.leaves_bits())
    launch.Output(facts.to_bits ? 0 : facts.tail.bit_output, tile.lanes() / 8);
  AppendNumbers(facts, counts, filter, tile.lanes(), launch);
  made->recorded.push_back(std::move(launch));
  made->own_packs.push_back(RequestBitFilter(facts, filter));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClBinaryProduct;
const KernelDesc kOpenClBinaryProduct = {.name = "opencl.binary.product",
                                         .arithmetic = Arithmetic::kBits,
                                         .match = MatchAs<kFamily>,
                                         .parameters = ParametersOf<kTileFields, kBitFields>};

}  // namespace fettle::kernels
