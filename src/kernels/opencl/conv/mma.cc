// Convolutions as products by matrix instructions (mma.cl).
//   opencl.conv.mma       of f16
//   opencl.conv.mma.tf32  of f32, factors rounded to TF32
#include <algorithm>

#include "kernels/opencl/conv/gathered_tiles.h"

namespace fettle::kernels {
namespace {

Result<PixelConv> ReadForMma(const ir::Graph& group, const Device& device) {
  if (!AsOpenCl(device).facts().mma.available)
    return Unsupported("the device is not known to have instructions for matrices");
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  if (conv.groups > 1) return Unsupported("groups: a tile is of one");
  return conv;
}

/// Buffers of `storage`.
template <DType storage>
Result<std::vector<StateAssignment>> BuffersOf(const ir::Graph& group, const PixelConv& conv,
                                               const Device& device) {
  ASSIGN_OR_RETURN(std::vector<StateAssignment> states, PixelConvStates(group, conv, device));
  const size_t x = InputIndex(group, conv.x);
  const auto is_one = [](const State& state) {
    return state.memory == MemoryKind::kBuffer && state.storage == storage;
  };
  std::erase_if(states, [&](const StateAssignment& one) {
    return !is_one(one.inputs[x]) || !is_one(one.outputs[0]);
  });
  if (states.empty()) return Unsupported("no buffer of {}", DTypeName(storage));
  return states;
}

/// Input channels that one copy brings.
int64_t ChunkOf(DType storage) { return kChunkBytes / StorageBytes(storage, 1); }

ParamSpace MmaSpace(const Problem& problem, const PixelConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const WarpProduct product = GatheredProduct(conv, ChunkOf(problem.states.outputs[0].storage));
  return {kWarpTileFields.Tunables(), kWarpTileFields.Write(UsualWarpTile(product, facts)),
          [&facts, product](const Params& params) {
            return CheckWarpTile(product, kWarpTileFields.Read(params), facts);
          }};
}

Result<std::unique_ptr<PreparedKernel>> PrepareMma(const Problem& problem, const PixelConv& conv,
                                                   const Params& params, const Device& device) {
  const WarpTile tile = kWarpTileFields.Read(params);
  const State& state = problem.states.outputs[0];
  const OpenClFacts& facts = AsOpenCl(device).facts();
  BuildOptions options = AccessOptions(state);
  DefineWarpTile(tile, facts, options);
  DefineGathered(conv, tile, options);
  const int64_t chunk = ChunkOf(state.storage);
  const WarpProduct product = GatheredProduct(conv, chunk);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, GatheredForm(conv, chunk),
                              {.path = "conv/mma.cl",
                               .function = "conv_mma",
                               .options = std::move(options),
                               .sizes = WarpTileSizes(product, tile)},
                              device));
  made->workspace = product.SharedBytesOf(tile);
  if (made->workspace > 0) made->recorded[0].Workspace(0, kTilePartBytes).Tickets();
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

template <DType storage>
Work MmaConvWork(const Problem&, const PixelConv& conv, const Params&, const Device&) {
  const double macs =
      static_cast<double>(conv.pixels() * conv.oc) * static_cast<double>(conv.taps() * conv.ic);
  const double y = static_cast<double>(conv.pixels() * conv.oc);
  return {.operations = 2 * macs,
          .ceiling = storage == DType::kF16 ? "f16 mma" : "tf32 mma",
          .bytes = y * static_cast<double>(StorageBytes(storage, 1))};
}

/// Tiles have 16 rows of pixels, and 16 channels go into one instruction.
template <int kUsual>
int MmaTaste(const PixelConv& conv, const Device&) {
  return conv.ic >= 16 && conv.oc >= 16 && conv.image_pixels() >= 16 ? kUsual : 2;
}

template <DType storage, int kUsualTaste>
constexpr Family<PixelConv> kMmaConvFamily{.read = ReadForMma,
                                           .states = BuffersOf<storage>,
                                           .prepare = PrepareMma,
                                           .params = MmaSpace,
                                           .taste = MmaTaste<kUsualTaste>,
                                           .work = MmaConvWork<storage>};

}  // namespace

extern const KernelDesc kOpenClConvMma;
const KernelDesc kOpenClConvMma = {.name = "opencl.conv.mma",
                                   .match = MatchAs<kMmaConvFamily<DType::kF16, 12>>,
                                   .parameters = ParametersOf<kWarpTileFields>};

extern const KernelDesc kOpenClConvMmaTf32;
const KernelDesc kOpenClConvMmaTf32 = {.name = "opencl.conv.mma.tf32",
                                       .arithmetic = Arithmetic::kTF32,
                                       .match = MatchAs<kMmaConvFamily<DType::kF32, 11>>,
                                       .parameters = ParametersOf<kWarpTileFields>};

}  // namespace fettle::kernels
