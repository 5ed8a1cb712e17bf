// Products of bytes by matrix instructions (mma.clh), of weights without zero points.
//   opencl.quantised.conv.mma    convolutions in one group, of any kernel, stride and dilation
//   opencl.quantised.matmul.mma  rows times a matrix
#include "kernels/opencl/conv/gathered_tiles.h"
#include "kernels/opencl/quantised/byte_product.h"

namespace fettle::kernels {
namespace {

/// Input channels of a chunk.
constexpr int64_t kByteChunk = kChunkBytes;

template <bool kIsMatrix>
Result<ByteProduct> ReadForByteMma(const ir::Graph& group, const Device& device) {
  if (!AsOpenCl(device).facts().mma.available)
    return Unsupported("the device is not known to have matrix instructions");
  ASSIGN_OR_RETURN(ByteProduct product, ReadByteProduct(group));
  if (product.is_matrix != kIsMatrix)
    return Unsupported("{} is {} matrix product", product.q.core->op, kIsMatrix ? "no" : "a");
  if (product.conv.groups > 1) return Unsupported("groups: a tile is of one");
  if (!TakesDot(group, product)) return Unsupported("weights with a zero point, or of u8");
  return product;
}

/// The tiles' product: of rows, a convolution of one pixel each.
WarpProduct TiledProduct(const ByteProduct& product, const OpenClFacts& facts) {
  WarpProduct tiled = GatheredProduct(product.conv, kByteChunk);
  tiled.for_warpgroups = product.is_matrix && facts.mma.byte_warpgroups;
  return tiled;
}

ParamSpace ByteMmaSpace(const Problem&, const ByteProduct& product, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const WarpProduct tiled = TiledProduct(product, facts);
  return {kWarpTileFields.Tunables(), kWarpTileFields.Write(UsualWarpTile(tiled, facts)),
          [&facts, tiled](const Params& params) {
            return CheckWarpTile(tiled, kWarpTileFields.Read(params), facts);
          }};
}

/// Rows of weights: transposed ones are [ic, oc].
FilterForm ByteMmaForm(const ByteProduct& product) {
  FilterForm form = GatheredForm(product.conv, kByteChunk);
  if (!product.weights_are_transposed) return form;
  form.recipe += ".t";
  std::swap(form.dims[0], form.dims[1]);
  form.axes[0].dim = 1;
  form.axes[2].dim = 0;
  return form;
}

/// Whether tiles of rows times a matrix are all full.
bool IsEven(const PixelConv& conv, const WarpTile& tile) {
  return conv.out[2] % tile.bm == 0 && conv.oc % tile.bn == 0 && conv.ic % (tile.bk * 2) == 0;
}

/// Access of access.clh: of no concern where bytes are stored.
State FloatsOf(const Problem& problem, const ByteProduct& product) {
  State state = problem.states.outputs[0];
  if (product.result != ByteResult::kFloats) state.storage = DType::kF32;
  return state;
}

template <bool kIsMatrix>
Result<std::unique_ptr<PreparedKernel>> PrepareByteMma(const Problem& problem,
                                                       const ByteProduct& product,
                                                       const Params& params, const Device& device) {
  const WarpTile tile = kWarpTileFields.Read(params);
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const WarpProduct tiled = TiledProduct(product, facts);
  const bool is_signed = problem.group->value(product.q.x).dtype == DType::kI8;
  ByteProgram program{.path = kIsMatrix ? "quantised/matmul_mma.cl" : "quantised/conv_mma.cl",
                      .function = kIsMatrix ? "quantised_matmul_mma" : "quantised_conv_mma",
                      .options = AccessOptions(FloatsOf(problem, product)),
                      .sizes = WarpTileSizes(tiled, tile),
                      .form = ByteMmaForm(product),
                      .dot = true,
                      .workspace = tiled.SharedBytesOf(tile)};
  DefineWarpTile(tile, facts, program.options);
  DefineBytes(problem, product, program.options);
  program.options.Define("FACTORS", is_signed ? 2 : 1);
  if (!kIsMatrix) DefineGathered(product.conv, tile, kByteChunk, false, program.options);
  if (kIsMatrix) program.options.Define("EVEN", IsEven(product.conv, tile) ? 1 : 0);
  return RecordByteProduct(problem, product, program, AsOpenCl(device),
                           [&](RecordedLaunch& launch) {
                             if (kIsMatrix)
                               launch.Int(product.conv.out[2]).Int(product.conv.ic);
                             else
                               launch.Value(PixelDims(problem.shape(product.q.anchor())));
                             if (program.workspace > 0)
                               launch.Workspace(0, kTilePartBytes).Tickets();
                           });
}

Work ByteMmaWork(const Problem& problem, const ByteProduct& product, const Params&, const Device&) {
  const PixelConv& conv = product.conv;
  const double outputs = static_cast<double>(conv.pixels() * conv.oc);
  return {
      .operations = 2 * outputs * static_cast<double>(conv.taps() * conv.ic),
      .ceiling = "int8 mma",
      .bytes = outputs * static_cast<double>(StorageBytes(problem.states.outputs[0].storage, 1))};
}

/// First layers of few channels have taps enough: 10 us of an H200 for 7x7 of three, 49 by the
/// others. Pieces are of 16 columns at least, of 32 bytes of k, and of 16 rows. One row of a matrix
/// leaves most of those empty, but its steps are shared by many groups.
int ByteMmaTaste(const ByteProduct& product, const Device&) {
  const PixelConv& conv = product.conv;
  const bool has_rows = product.is_matrix || conv.pixels() >= 16;
  return conv.ic * conv.taps() >= 16 && conv.oc >= 16 && has_rows ? 18 : 2;
}

template <bool kIsMatrix>
constexpr Family<ByteProduct> kByteMmaFamily{.read = ReadForByteMma<kIsMatrix>,
                                             .states = ByteStates,
                                             .prepare = PrepareByteMma<kIsMatrix>,
                                             .params = ByteMmaSpace,
                                             .taste = ByteMmaTaste,
                                             .work = ByteMmaWork};

}  // namespace

extern const KernelDesc kOpenClQuantisedConvMma;
const KernelDesc kOpenClQuantisedConvMma = {.name = "opencl.quantised.conv.mma",
                                            .arithmetic = Arithmetic::kInt,
                                            .match = MatchAs<kByteMmaFamily<false>>,
                                            .parameters = ParametersOf<kWarpTileFields>};

extern const KernelDesc kOpenClQuantisedMatMulMma;
const KernelDesc kOpenClQuantisedMatMulMma = {.name = "opencl.quantised.matmul.mma",
                                              .arithmetic = Arithmetic::kInt,
                                              .match = MatchAs<kByteMmaFamily<true>>,
                                              .parameters = ParametersOf<kWarpTileFields>};

}  // namespace fettle::kernels
