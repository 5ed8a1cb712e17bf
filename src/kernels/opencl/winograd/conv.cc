// opencl.conv.winograd: 3x3 convolutions of stride 1 by Winograd's F(2, 3) or F(4, 3) in both axes:
// patches transformed, one product per place of a patch, products transformed back.
#include <cstring>

#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/work_sizes.h"

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
  Patches patches{.tile = tile, .of_row = DivideUp(conv.out[1], tile)};
  patches.of_image = patches.of_row * DivideUp(conv.out[0], tile);
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

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(group));
  const std::array<int64_t, 2> threes{3, 3}, ones{1, 1};
  if (conv.kernel != threes || conv.stride != ones || conv.dilation != ones || conv.groups != 1)
    return Unsupported("not 3x3 of stride 1 and one group");
  if (conv.ic < kLeastChannels || conv.oc < kLeastChannels)
    return Unsupported("fewer than {} channels", kLeastChannels);
  RETURN_IF_ERROR(CheckMemory(conv, 4, device));
  return PixelCandidates(group, conv.y, device);
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
  std::memset(out, 0, static_cast<size_t>(shape.bytes()));
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

/// The functions of the three stages.
struct Stages {
  std::shared_ptr<OpenClKernel> input, product, output;
};

class Winograd final : public PreparedKernel {
 public:
  Winograd(const Problem& problem, const PixelConv& conv, const Params& params,
           Expression expression, Stages stages)
      : conv_(conv),
        patches_(CutPatches(conv, params.at("tile"))),
        shape_{conv.ic, conv.oc, ReadTile(params).lanes(), params.at("tile")},
        storage_(problem.states.outputs[0].storage),
        in_dims_(PixelDims(problem.shape(conv.x))),
        out_dims_(PixelDims(problem.shape(conv.y))),
        input_(InputIndex(*problem.group, conv.x)),
        expression_(std::move(expression)),
        stages_(std::move(stages)) {
    product_sizes_ = PlaceSizes(DivideUp(patches_.all, params.at("columns")), shape_.blocks(),
                                patches_.places());
    product_sizes_.lws = GroupOf(params);
  }

  int64_t workspace_bytes() const override {
    return StageBytes(patches_, conv_.ic) + StageBytes(patches_, conv_.oc);
  }

  std::vector<PackRequest> packs() const override {
    PackRequest request{.constants = {conv_.w}};
    if (conv_.b != ir::kAbsent) request.constants.push_back(conv_.b);
    request.recipe = fmt::format("opencl.winograd.{}.{}{}", shape_.tile, shape_.lanes,
                                 conv_.b == ir::kAbsent ? "" : ".bias");
    request.bytes = shape_.bytes();
    request.pack = [shape = shape_](std::span<const Constant* const> constants, std::byte* out) {
      PackFilter(shape, constants, reinterpret_cast<float*>(out));
      return OkStatus();
    };
    std::vector<PackRequest> all{std::move(request)};
    all.insert(all.end(), expression_.packs().begin(), expression_.packs().end());
    return all;
  }

  Status Launch(const LaunchArgs& args) const override {
    OpenClStream& stream = OpenClStreamOf(args);
    const int64_t pixel = PixelBytes(storage_);
    const Location patches = args.workspace;
    Location products = args.workspace;
    products.offset += StageBytes(patches_, conv_.ic);
    const cl_int2 count = Int2(patches_.of_row, patches_.of_image);

    ArgList in;
    in.Tensor(args.inputs[input_], pixel).Value(in_dims_).Tensor(patches, kVectorBytes);
    in.Value(Int2(conv_.pad[0], conv_.pad[1])).Value(count);
    RETURN_IF_ERROR(stream.Launch(*stages_.input,
                                  PlaceSizes(patches_.of_image, DivideUp(conv_.ic, 4), conv_.batch),
                                  in.args()));

    ArgList product;
    product.Tensor(patches, kVectorBytes).Tensor(products, kVectorBytes).Memory(args.packed[0]);
    product.Value(static_cast<cl_int>(shape_.bias()));
    product.Value(Int2(shape_.in_quads(), DivideUp(conv_.oc, 4)));
    product.Value(static_cast<cl_int>(patches_.all));
    RETURN_IF_ERROR(stream.Launch(*stages_.product, product_sizes_, product.args()));

    ArgList out;
    out.Tensor(products, kVectorBytes).Tensor(args.outputs[0], pixel).Value(out_dims_);
    out.Value(static_cast<cl_int>(conv_.oc)).Memory(args.packed[0]).Value(count);
    expression_.AppendArgs(args, 1, out);
    return stream.Launch(*stages_.output,
                         PlaceSizes(patches_.of_image, DivideUp(conv_.oc, 4), conv_.batch),
                         out.args());
  }

 private:
  PixelConv conv_;
  Patches patches_;
  FilterShape shape_;
  DType storage_;
  cl_int4 in_dims_, out_dims_;
  size_t input_;
  WorkSizes product_sizes_;
  Expression expression_;
  Stages stages_;
};

std::vector<Tunable> Tunables(const Problem& problem, const Device&) {
  std::vector<Tunable> all{{"tile", {4, 2}}};
  for (Tunable& tunable : TileTunables(ReadPixelConv(*problem.group).value()))
    all.push_back(std::move(tunable));
  return all;
}

Params Defaults(const Problem& problem, const Device&) {
  const PixelConv conv = ReadPixelConv(*problem.group).value();
  Params params = TileDefaults(conv);
  params["tile"] = 4;
  AppendGroupDefaults(PlaceSizes(DivideUp(CutPatches(conv, 4).all, params.at("columns")),
                                 DivideUp(conv.oc, ReadTile(params).lanes())),
                      params);
  return params;
}

Status Valid(const Problem& problem, const Params& params, const Device& device) {
  RETURN_IF_ERROR(CheckMemory(ReadPixelConv(*problem.group).value(), params.at("tile"), device));
  return CheckGroup(params, device);
}

Work WorkOf(const Problem& problem, const Params& params, const Device&) {
  const PixelConv conv = ReadPixelConv(*problem.group).value();
  const Patches patches = CutPatches(conv, params.at("tile"));
  const auto bytes = [&](ir::ValueId id, const State& state) {
    return static_cast<double>(StateBytes(problem.shape(id), state));
  };
  const size_t input = InputIndex(*problem.group, conv.x);
  return {.operations = 2.0 * static_cast<double>(patches.places() * patches.all) *
                        static_cast<double>(conv.ic * conv.oc),
          .bytes = bytes(conv.x, problem.states.inputs[input]) +
                   bytes(conv.y, problem.states.outputs[0])};
}

Result<Stages> BuildStages(const Problem& problem, const Params& params,
                           const Expression& expression, const OpenClDevice& device) {
  BuildOptions outer, inner;
  DefineAccess(problem.states.outputs[0], outer);
  outer.Define("TILE", params.at("tile"));
  inner.Define("QUADS", params.at("quads")).Define("TILE_W", params.at("columns"));
  Stages stages;
  ASSIGN_OR_RETURN(stages.input,
                   device.BuildKernel(MakeProgram("winograd/input.cl", outer), "winograd_input"));
  ASSIGN_OR_RETURN(stages.product, device.BuildKernel(MakeProgram("winograd/product.cl", inner),
                                                      "winograd_product"));
  ASSIGN_OR_RETURN(stages.output,
                   device.BuildKernel(MakeProgram("winograd/output.cl", outer, expression.text()),
                                      "winograd_output"));
  return stages;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(*problem.group));
  ASSIGN_OR_RETURN(Expression expression,
                   Expression::Compile(*problem.group, problem.states, conv.y));
  ASSIGN_OR_RETURN(Stages stages, BuildStages(problem, params, expression, AsOpenCl(device)));
  return std::unique_ptr<PreparedKernel>(
      std::make_unique<Winograd>(problem, conv, params, std::move(expression), std::move(stages)));
}

}  // namespace

extern const KernelDesc kOpenClConvWinograd;
const KernelDesc kOpenClConvWinograd = {.name = "opencl.conv.winograd",
                                        .device = DeviceKind::kOpenCl,
                                        .preference = 3,
                                        .candidates = Candidates,
                                        .prepare = Prepare,
                                        .tunables = Tunables,
                                        .valid = Valid,
                                        .default_params = Defaults,
                                        .work = WorkOf};

}  // namespace fettle::kernels
