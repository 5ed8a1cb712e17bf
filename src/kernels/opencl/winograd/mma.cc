// 3x3 convolutions of stride 1 by Winograd's F(2, 3) or F(4, 3) in both axes, whose products are
// made by matrix instructions (mma.cl).
//   opencl.conv.winograd.mma      of f16
//   opencl.conv.winograd.mma.f32  of f32, each in two parts of TF32
#include <algorithm>
#include <cstring>

#include "kernels/opencl/conv/gathered_tiles.h"
#include "kernels/opencl/winograd/patches.h"

namespace fettle::kernels {
namespace {

template <MmaFactors kFactors>
Patches PatchesOf(const PixelConv& conv, const Params& params) {
  return CutPatches(conv, kWinogradFields.Read(params).tile, StorageOf(kFactors));
}

/// Fewer patches leave most rows of a product's tile empty, and wait for the weights of all places:
/// of small pictures more, smaller ones are cut.
constexpr int64_t kLeastPatches = 48;

template <MmaFactors kFactors>
Patches UsualPatches(const PixelConv& conv) {
  const Patches large = CutPatches(conv, 4, StorageOf(kFactors));
  return large.all >= kLeastPatches ? large : CutPatches(conv, 2, StorageOf(kFactors));
}

/// Patches by output channels, for each place.
WarpProduct ProductOf(const PixelConv& conv, const Patches& patches, MmaFactors factors,
                      const OpenClFacts& facts) {
  return {.m = patches.all,
          .n = conv.oc,
          .k = conv.kernel[0] * patches.ChunksOf(conv.ic) * kChunkPairs,
          .batch = patches.places(),
          .for_warpgroups = factors == MmaFactors::kHalves && facts.mma.warpgroups,
          .parts = PartsOf(factors)};
}

/// The bias of whole quads of channels, then [place][channel][plane][input channel], whole chunks
/// of them.
struct TransformedFilter {
  int64_t ic = 0, oc = 0, planes = 1;
  Patches patches;
  int64_t rows() const { return DivideUp(oc, 4) * 4; }
  int64_t of_plane() const { return patches.ChunksOf(ic) * patches.chunk(); }
  int64_t row() const { return planes * of_plane(); }
  int64_t elements() const { return patches.places() * rows() * row(); }
  int64_t bytes() const { return rows() * 4 + StorageBytes(patches.storage, elements()); }

  void Pack(std::span<const Constant* const> constants, std::byte* out) const {
    std::memset(out, 0, bytes());
    if (constants.size() > 1) {
      const std::vector<float> bias = AllFloats(*constants[1]);
      std::memcpy(out, bias.data(), bias.size() * sizeof(float));
    }
    const std::vector<float> weights = AllFloats(*constants[0]);
    FilterTransform transform(patches.tile);
    for (int64_t o = 0; o < oc; ++o) {
      for (int64_t c = 0; c < ic * planes; ++c) {
        const std::vector<float>& places =
            transform.Run(weights.data() + (o * ic * planes + c) * 9);
        const int64_t of_row = c % planes * of_plane() + c / planes;
        for (size_t place = 0; place < places.size(); ++place)
          StoreFloat(places[place], patches.storage,
                     (static_cast<int64_t>(place) * rows() + o) * row() + of_row, out + rows() * 4);
      }
    }
  }
};

PackRequest RequestFilter(const PixelConv& conv, const TransformedFilter& filter) {
  PackRequest request{.constants = {conv.w}};
  if (conv.b != ir::kAbsent) request.constants.push_back(conv.b);
  request.recipe =
      fmt::format("opencl.winograd.mma.{}.{}{}", filter.patches.tile,
                  DTypeName(filter.patches.storage), conv.b == ir::kAbsent ? "" : ".bias");
  request.bytes = filter.bytes();
  request.pack = [filter](std::span<const Constant* const> constants, std::byte* out) {
    filter.Pack(constants, out);
    return OkStatus();
  };
  return request;
}

template <MmaFactors kFactors>
Result<PixelConv> Read(const ir::Graph& group, const Device& device) {
  RETURN_IF_ERROR(ReadGroupedForMma(group, device).status());
  ASSIGN_OR_RETURN(PixelConv conv, ReadWinogradOfPlanes(group));
  RETURN_IF_ERROR(CheckMemory(conv, UsualPatches<kFactors>(conv), device));
  return conv;
}

template <MmaFactors kFactors>
ParamSpace Space(const Problem&, const PixelConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const Patches usual = UsualPatches<kFactors>(conv);
  ParamSpace space{kWinogradFields.Tunables(), kWinogradFields.Write({usual.tile}), {}};
  kWarpTileFields.AppendTunables(space.tunables);
  kWarpTileFields.Write(UsualWarpTile(ProductOf(conv, usual, kFactors, facts), facts), space.usual);
  space.check = [conv, &device, &facts](const Params& params) {
    const Patches patches = PatchesOf<kFactors>(conv, params);
    RETURN_IF_ERROR(CheckMemory(conv, patches, device));
    return CheckWarpTile(ProductOf(conv, patches, kFactors, facts), kWarpTileFields.Read(params),
                         facts);
  };
  return space;
}

/// The launch of the products.
template <MmaFactors kFactors>
Status RecordProducts(const PixelConv& conv, const Patches& patches,
                      const TransformedFilter& filter, const Params& params,
                      const OpenClDevice& device, RecordedKernel& made) {
  const WarpTile tile = kWarpTileFields.Read(params);
  const WarpProduct product = ProductOf(conv, patches, kFactors, device.facts());
  BuildOptions options = AccessOptions({.storage = patches.storage});
  DefineWarpTile(tile, device.facts(), options);
  if (product.parts > 1) options.Define("PARTS", product.parts);
  if (conv.is_volume) {
    options.Define("OF_PLANE", patches.of_image).Define("PLANE_CHUNKS", patches.ChunksOf(conv.ic));
    options.Define("IN_D", conv.in[0]).Define("OUT_D", conv.out[0]).Define("PAD_D", conv.pad[0]);
  }
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   device.BuildKernel(MakeProgram("winograd/mma.cl", options), "winograd_mma"));
  RecordedLaunch& launch =
      made.recorded.emplace_back(std::move(kernel), WarpTileSizes(product, tile))
          .Workspace(0, kChunkBytes)
          .Workspace(patches.ProductsAt(conv), StorageBytes(patches.storage, 4))
          .Packed(0, 0)
          .Int(filter.rows())
          .Int(conv.kernel[0] * patches.ChunksOf(conv.ic))
          .Int(filter.rows() / 4)
          .Int(patches.all);
  if (tile.split == 1) return OkStatus();
  const int64_t shared_at = DivideUp(made.workspace, 64) * 64;
  launch.Workspace(shared_at, kTilePartBytes).Tickets();
  made.workspace = shared_at + product.SharedBytesOf(tile);
  return OkStatus();
}

template <MmaFactors kFactors>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  const OpenClDevice& opencl = AsOpenCl(device);
  const Patches patches = PatchesOf<kFactors>(conv, params);
  const TransformedFilter filter{conv.ic, conv.oc, conv.kernel[0], patches};
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->expression, Expression::Compile(*problem.group, problem.states, conv.y));
  made->own_packs.push_back(RequestFilter(conv, filter));
  made->workspace = patches.WorkspaceBytes(conv);
  RETURN_IF_ERROR(RecordWinogradInput(problem, conv, patches, opencl, *made));
  RETURN_IF_ERROR(RecordProducts<kFactors>(conv, patches, filter, params, opencl, *made));
  RETURN_IF_ERROR(RecordWinogradOutput(problem, conv, patches, opencl, *made));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

template <MmaFactors kFactors>
Work CountWork(const Problem&, const PixelConv& conv, const Params& params, const Device&) {
  const Patches patches = PatchesOf<kFactors>(conv, params);
  const auto places = static_cast<double>(patches.places() * patches.all);
  Work work = MmaConvWork(kFactors, conv);
  work.operations = 2 * static_cast<double>(PartsOf(kFactors) == 2 ? 3 : 1) * places *
                    static_cast<double>(conv.kernel[0] * conv.ic * conv.oc);
  return work;
}

/// Of f32 faster than opencl.conv.mma.blocks.f32 where multiplications that are saved outweigh the
/// transforms: much work, from 256 channels on, of F(2, 3), which saves fewer, from 512 on; of
/// volumes, whose planes of taps share transforms, from 100 and 256. Of f16 blocks are faster
/// everywhere. Figures of an H200: docs/laboratory/gpu.md.
template <MmaFactors kFactors>
int PatchTaste(const PixelConv& conv, const Device&) {
  constexpr int kAboveBlocks = 12, kLow = 2;
  constexpr int64_t kMuch = 300'000'000;
  const Patches patches = UsualPatches<kFactors>(conv);
  const int64_t least =
      conv.is_volume ? (patches.tile == 4 ? 100 : 256) : (patches.tile == 4 ? 256 : 512);
  const int64_t products = conv.ic * conv.oc;
  const bool pays = kFactors == MmaFactors::kFloats && patches.all >= kLeastPatches &&
                    products * conv.kernel[0] >= least * least &&
                    conv.pixels() * conv.taps() * products >= kMuch;
  return pays ? kAboveBlocks : kLow;
}

template <MmaFactors kFactors>
constexpr Family<PixelConv> kMmaFamily{.read = Read<kFactors>,
                                       .states = MmaStates<kFactors>,
                                       .prepare = Prepare<kFactors>,
                                       .params = Space<kFactors>,
                                       .taste = PatchTaste<kFactors>,
                                       .work = CountWork<kFactors>};

}  // namespace

extern const KernelDesc kOpenClConvWinogradMma, kOpenClConvWinogradMmaF32;
const KernelDesc kOpenClConvWinogradMma = {
    .name = "opencl.conv.winograd.mma",
    .match = MatchAs<kMmaFamily<MmaFactors::kHalves>>,
    .parameters = ParametersOf<kWinogradFields, kWarpTileFields>};
const KernelDesc kOpenClConvWinogradMmaF32 = {
    .name = "opencl.conv.winograd.mma.f32",
    .match = MatchAs<kMmaFamily<MmaFactors::kFloats>>,
    .parameters = ParametersOf<kWinogradFields, kWarpTileFields>};

}  // namespace fettle::kernels
