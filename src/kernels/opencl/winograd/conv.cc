// opencl.conv.winograd: 3x3 convolutions of stride 1 by Winograd's F(2, 3) or F(4, 3) in both axes:
// patches transformed, one product per place of a patch, products transformed back.
#include <cstring>

#include "kernels/opencl/conv/tile.h"

namespace fettle::kernels {
namespace {

/// Below this many channels the transforms cost more than they save.
constexpr int64_t kLeastChannels = 16;
constexpr int64_t kVectorBytes = 16;

struct Patches {
  int64_t tile = 4, of_row = 0, of_image = 0, all = 0;
  int64_t places() const { return (tile + 2) * (tile + 2); }
};

Patches CutPatches(const PixelConv& conv, int64_t tile) {
  Patches patches{.tile = tile, .of_row = DivideUp(conv.out[2], tile)};
  patches.of_image = patches.of_row * DivideUp(conv.out[1], tile);
  patches.all = patches.of_image * conv.batch;
  return patches;
}

/// Bytes of the transformed patches, and of the products.
int64_t StageBytes(const Patches& patches, int64_t channels) {
  return patches.places() * DivideUp(channels, 4) * patches.all * kVectorBytes;
}

Status CheckMemory(const PixelConv& conv, int64_t tile, const Device& device) {
  const Patches patches = CutPatches(conv, tile);
  const int64_t bytes = StageBytes(patches, conv.ic) + StageBytes(patches, conv.oc);
  const int64_t most = std::min<int64_t>(AsOpenCl(device).facts().max_allocation_bytes, INT32_MAX);
  if (bytes <= most) return OkStatus();
  return Unsupported("{} bytes of transformed patches: expected at most {}", bytes, most);
}

struct WinogradTile {
  int64_t tile = 4;
};
constexpr Fields kFields("winograd/transform.clh",
                         Field{"tile", &WinogradTile::tile, {4, 2}, "TILE"});

Result<PixelConv> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  const std::array<int64_t, 3> threes{1, 3, 3}, ones{1, 1, 1};
  if (conv.kernel != threes || conv.stride != ones || conv.dilation != ones || conv.groups != 1)
    return Unsupported("not 3x3 of stride 1 and one group");
  if (conv.ic < kLeastChannels || conv.oc < kLeastChannels)
    return Unsupported("fewer than {} channels", kLeastChannels);
  RETURN_IF_ERROR(CheckMemory(conv, 4, device));
  return conv;
}

/// Rows of G: a filter row of three to tile + 2 values.
std::vector<std::array<double, 3>> FilterTransform(int64_t tile) {
  if (tile == 2) return {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
  return {{1. / 4, 0, 0},
          {-1. / 6, -1. / 6, -1. / 6},
          {-1. / 6, 1. / 6, -1. / 6},
          {1. / 24, 1. / 12, 1. / 6},
          {1. / 24, -1. / 12, 1. / 6},
          {0, 0, 1}};
}

/// G g G^T of one filter, row by row.
void TransformFilter(const float* filter, const std::vector<std::array<double, 3>>& g,
                     std::vector<float>& out) {
  out.clear();
  for (const auto& rows : g) {
    for (const auto& columns : g) {
      double sum = 0;
      for (size_t i = 0; i < 3; ++i) {
        for (size_t j = 0; j < 3; ++j)
          sum += rows[i] * columns[j] * static_cast<double>(filter[i * 3 + j]);
      }
      out.push_back(static_cast<float>(sum));
    }
  }
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
  const auto g = FilterTransform(shape.tile);
  std::vector<float> transformed;
  for (int64_t o = 0; o < shape.oc; ++o) {
    for (int64_t c = 0; c < shape.ic; ++c) {
      TransformFilter(weights.data() + (o * shape.ic + c) * 9, g, transformed);
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
           tile);
  ParamSpace space{kFields.Tunables(), kFields.Write({}), {}};
  ParamSpace of_tile = TileSpace(conv, device);
  for (Tunable& tunable : of_tile.tunables) space.tunables.push_back(std::move(tunable));
  kTileFields.Write(tile, space.usual);
  space.check = [conv, &device, check = of_tile.check](const Params& params) {
    RETURN_IF_ERROR(CheckMemory(conv, kFields.Read(params).tile, device));
    return check(params);
  };
  return space;
}

Work CountWork(const Problem& problem, const PixelConv& conv, const Params& params, const Device&) {
  const Patches patches = CutPatches(conv, kFields.Read(params).tile);
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
        patches_(CutPatches(conv, kFields.Read(params).tile)),
        shape_{conv.ic, conv.oc, tile_.lanes(), patches_.tile} {}

  Result<std::unique_ptr<PreparedKernel>> Run() {
    ASSIGN_OR_RETURN(made_->expression,
                     Expression::Compile(*problem_.group, problem_.states, conv_.y));
    made_->own_packs.push_back(RequestFilter(conv_, shape_));
    made_->workspace = products_at_ + StageBytes(patches_, conv_.oc);
    RETURN_IF_ERROR(RecordInput());
    RETURN_IF_ERROR(RecordProduct());
    RETURN_IF_ERROR(RecordOutput());
    return std::unique_ptr<PreparedKernel>(std::move(made_));
  }

 private:
  Status RecordInput() {
    ASSIGN_OR_RETURN(
        std::shared_ptr<OpenClKernel> kernel,
        device_.BuildKernel(MakeProgram("winograd/input.cl", OuterOptions()), "winograd_input"));
    made_->recorded.emplace_back(std::move(kernel), PatchSizes(conv_.ic))
        .Input(InputIndex(*problem_.group, conv_.x), pixel_bytes_)
        .Value(PixelDims(problem_.shape(conv_.x)))
        .Workspace(0, kVectorBytes)
        .Value(Int2(conv_.pad[1], conv_.pad[2]))
        .Value(Int2(patches_.of_row, patches_.of_image));
    return OkStatus();
  }

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
        .Workspace(products_at_, kVectorBytes)
        .Packed(0, 0)
        .Int(shape_.bias())
        .Value(Int2(shape_.in_quads(), DivideUp(conv_.oc, 4)))
        .Int(patches_.all);
    return OkStatus();
  }

  Status RecordOutput() {
    const ProgramSource program =
        MakeProgram("winograd/output.cl", OuterOptions(), made_->expression.text());
    ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                     device_.BuildKernel(program, "winograd_output"));
    made_->recorded.emplace_back(std::move(kernel), PatchSizes(conv_.oc))
        .Workspace(products_at_, kVectorBytes)
        .Output(0, pixel_bytes_)
        .Value(PixelDims(problem_.shape(conv_.y)))
        .Int(conv_.oc)
        .Packed(0, 0)
        .Value(Int2(patches_.of_row, patches_.of_image));
    return OkStatus();
  }

  BuildOptions OuterOptions() const {
    BuildOptions options = AccessOptions(problem_.states.outputs[0]);
    kFields.Define({patches_.tile}, options);
    return options;
  }
  WorkSizes PatchSizes(int64_t channels) const {
    return PlaceSizes(patches_.of_image, DivideUp(channels, 4), conv_.batch);
  }

  const Problem& problem_;
  const PixelConv& conv_;
  TileShape tile_;
  const OpenClDevice& device_;
  Patches patches_;
  FilterShape shape_;
  int64_t pixel_bytes_ = PixelBytes(problem_.states.outputs[0].storage);
  int64_t products_at_ = StageBytes(patches_, conv_.ic);
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
                                        .parameters = ParametersOf<kFields, kTileFields>};

}  // namespace fettle::kernels
