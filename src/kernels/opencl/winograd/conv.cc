// opencl.conv.winograd: 3x3 convolutions of stride 1 by Winograd's F(2, 3) or F(4, 3) in both axes:
// patches transformed, one product per place of a patch, products transformed back.
#include <cstring>

#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/winograd/patches.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kVectorBytes = 16;

Result<PixelConv> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadWinograd(group));
  RETURN_IF_ERROR(CheckMemory(conv, CutPatches(conv, 4), device));
  return conv;
}

/// Bias of all output quads, then [place][block][input quad][4][lanes].
struct FilterShape {
  int64_t ic = 0, oc = 0, lanes = 4, tile = 4;
  int64_t in_quads() const { return DivideUp(ic, 4); }
  int64_t blocks() const { return DivideUp(oc, lanes); }
  int64_t bias() const { return blocks() * lanes; }
  int64_t of_place() const { return blocks() * in_quads() * 4 * lanes; }
  int64_t bytes() const { return (bias() + (tile + 2) * (tile + 2) * of_place()) * 4; }
};

void PackFilter(const FilterShape& shape, std::span<const Constant* const> constants, float* out) {
  std::memset(out, 0, shape.bytes());
  if (constants.size() > 1) {
    const std::vector<float> bias = AllFloats(*constants[1]);
    std::copy(bias.begin(), bias.end(), out);
  }
  const std::vector<float> weights = AllFloats(*constants[0]);
  FilterTransform transform(shape.tile);
  for (int64_t o = 0; o < shape.oc; ++o) {
    for (int64_t c = 0; c < shape.ic; ++c) {
      const std::vector<float>& transformed =
          transform.Run(weights.data() + (o * shape.ic + c) * 9);
      float* at = out + shape.bias() + o % shape.lanes +
                  ((o / shape.lanes * shape.in_quads() + c / 4) * 4 + c % 4) * shape.lanes;
      for (size_t p = 0; p < transformed.size(); ++p)
        at[static_cast<int64_t>(p) * shape.of_place()] = transformed[p];
    }
  }
}

PackRequest RequestFilter(const PixelConv& conv, const FilterShape& shape) {
  PackRequest request{.constants = {conv.w}};
  if (conv.b != ir::kAbsent) request.constants.push_back(conv.b);
  request.recipe = fmt::format("opencl.winograd.{}.{}{}", shape.tile, shape.lanes,
                               conv.b == ir::kAbsent ? "" : ".bias");
  request.bytes = shape.bytes();
  request.pack = [shape](std::span<const Constant* const> constants, std::byte* out) {
    PackFilter(shape, constants, reinterpret_cast<float*>(out));
    return OkStatus();
  };
  return request;
}

ParamSpace Space(const Problem&, const PixelConv& conv, const Device& device) {
  TileShape tile = UsualTile(conv, device);
  SetGroup(PlaceSizes(DivideUp(CutPatches(conv, WinogradTile().tile).all, tile.columns),
                      DivideUp(conv.oc, tile.lanes())),
           AsOpenCl(device).facts(), tile);
  ParamSpace space{kWinogradFields.Tunables(), kWinogradFields.Write({}), {}};
  ParamSpace of_tile = TileSpace(conv, device);
  for (Tunable& tunable : of_tile.tunables) space.tunables.push_back(std::move(tunable));
  kTileFields.Write(tile, space.usual);
  space.check = [conv, &device, check = of_tile.check](const Params& params) {
    RETURN_IF_ERROR(CheckMemory(conv, CutPatches(conv, kWinogradFields.Read(params).tile), device));
    return check(params);
  };
  return space;
}

Work CountWork(const Problem& problem, const PixelConv& conv, const Params& params, const Device&) {
  const Patches patches = CutPatches(conv, kWinogradFields.Read(params).tile);
  const auto bytes = [&](ir::ValueId id, const State& state) {
    return static_cast<double>(StateBytes(problem.shape(id), state));
  };
  const size_t input = InputIndex(*problem.group, conv.x);
  return {.operations = 2.0 * static_cast<double>(patches.places() * patches.all) *
                        static_cast<double>(conv.ic * conv.oc),
          .bytes = bytes(conv.x, problem.states.inputs[input]) +
                   bytes(conv.y, problem.states.outputs[0])};
}

/// The launches of one problem.
class Recorder {
 public:
  Recorder(const Problem& problem, const PixelConv& conv, const Params& params,
           const OpenClDevice& device)
      : problem_(problem),
        conv_(conv),
        tile_(kTileFields.Read(params)),
        device_(device),
        patches_(CutPatches(conv, kWinogradFields.Read(params).tile)),
        shape_{conv.ic, conv.oc, tile_.lanes(), patches_.tile} {}

  Result<std::unique_ptr<PreparedKernel>> Run() {
    ASSIGN_OR_RETURN(made_->expression,
                     Expression::Compile(*problem_.group, problem_.states, conv_.y));
    made_->own_packs.push_back(RequestFilter(conv_, shape_));
    made_->workspace = patches_.WorkspaceBytes(conv_);
    RETURN_IF_ERROR(RecordWinogradInput(problem_, conv_, patches_, device_, *made_));
    RETURN_IF_ERROR(RecordProduct());
    RETURN_IF_ERROR(RecordWinogradOutput(problem_, conv_, patches_, device_, *made_));
    return std::unique_ptr<PreparedKernel>(std::move(made_));
  }

 private:
  Status RecordProduct() {
    BuildOptions options;
    kTileFields.Define(tile_, options);
    ASSIGN_OR_RETURN(
        std::shared_ptr<OpenClKernel> kernel,
        device_.BuildKernel(MakeProgram("winograd/product.cl", options), "winograd_product"));
    WorkSizes sizes =
        PlaceSizes(DivideUp(patches_.all, tile_.columns), shape_.blocks(), patches_.places());
    sizes.lws = GroupOf(tile_);
    made_->recorded.emplace_back(std::move(kernel), sizes)
        .Workspace(0, kVectorBytes)
        .Workspace(patches_.ProductsAt(conv_), kVectorBytes)
        .Packed(0, 0)
        .Int(shape_.bias())
        .Value(Int2(shape_.in_quads(), DivideUp(conv_.oc, 4)))
        .Int(patches_.all);
    return OkStatus();
  }

  const Problem& problem_;
  const PixelConv& conv_;
  TileShape tile_;
  const OpenClDevice& device_;
  Patches patches_;
  FilterShape shape_;
  std::unique_ptr<RecordedKernel> made_ = std::make_unique<RecordedKernel>();
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  return Recorder(problem, conv, params, AsOpenCl(device)).Run();
}

constexpr Family<PixelConv> kFamily{.read = Read,
                                    .states = PixelConvStates,
                                    .prepare = Prepare,
                                    .params = Space,
                                    .taste = Always<3>,
                                    .work = CountWork};

}  // namespace

extern const KernelDesc kOpenClConvWinograd;
const KernelDesc kOpenClConvWinograd = {.name = "opencl.conv.winograd",
                                        .match = MatchAs<kFamily>,
                                        .parameters = ParametersOf<kWinogradFields, kTileFields>};

}  // namespace fettle::kernels
