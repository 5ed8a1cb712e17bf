// opencl.conv.volume: convolutions over three spatial axes of row-major tensors, any window,
// stride, dilation, padding and groups, with an epilogue. Sums are f32.
// opencl.conv.given: the same over one to three axes, of filters that are computed.
#include "kernels/opencl/conv/volume.h"

namespace fettle::kernels {
namespace {

Result<PixelConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelOperands(group, "Conv"));
  const ir::Node& node = group.nodes()[0];
  const Shape& x = *group.value(conv.x).shape;
  if (x.rank() != 5) return Unsupported("{} axes: expected depth, height and width", x.rank() - 2);
  ASSIGN_OR_RETURN(static_cast<ConvGeometry&>(conv), ReadConvGeometry(group, node));
  if (conv.ic == 0) return Unsupported("no input channels");
  RETURN_IF_ERROR(CheckCounts(x, *group.value(conv.w).shape, *group.value(conv.y).shape));
  return conv;
}

/// A computed input and filter, or bias.
Result<PixelConv> ReadGiven(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (node.op != "Conv"_op) return Unsupported("computes Conv only");
  PixelConv conv{{}, node.input(0), node.input(1), node.input(2), node.output(0)};
  const ir::Value &x = group.value(conv.x), &w = group.value(conv.w);
  if (x.is_constant()) return Unsupported("the input is constant");
  const bool gives_bias = conv.b != ir::kAbsent && !group.value(conv.b).is_constant();
  if (w.is_constant() && !gives_bias) return Unsupported("weights and bias are constant");
  if (!IsFloatValue(x.dtype)) return Unsupported("not a float type");
  if (!HasVolumeRank(*x.shape)) return Unsupported("more than three axes");
  ASSIGN_OR_RETURN(static_cast<ConvGeometry&>(conv), ReadConvGeometry(group, node));
  if (conv.ic == 0) return Unsupported("no input channels");
  RETURN_IF_ERROR(CheckCounts(*x.shape, *w.shape, *group.value(conv.y).shape));
  return conv;
}

ParamSpace Space(const Problem&, const PixelConv& conv, const Device& device) {
  return VolumeSpace(SumsOf(conv), device);
}

/// [group][block][input channel, tap][lanes]
FilterForm FormOf(const VolumeSums& sums, int64_t lanes) {
  const int64_t blocks = DivideUp(sums.channels, lanes);
  return {.recipe = fmt::format("opencl.conv.volume.{}.{}", sums.groups, lanes),
          .bias = DivideUp(sums.groups * sums.channels, 4) * 4,
          .elements = sums.groups * blocks * sums.depth * lanes,
          .dims = {sums.groups, sums.channels, sums.depth},
          .axes = {{sums.groups, 0}, {blocks, 1, lanes}, {sums.depth, 2}, {lanes, 1}}};
}

template <bool kGiven>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const VolumeTile tile = kVolumeFields.Read(params);
  const VolumeSums sums = SumsOf(conv);
  const DType storage = problem.states.outputs[0].storage;
  const int64_t element = StorageBytes(storage, 1);
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->expression, Expression::Compile(group, problem.states, conv.y));
  BuildOptions options = VolumeOptions(tile, conv.kernel, problem.states.outputs[0]);
  const bool has_bias = conv.b != ir::kAbsent;
  if (kGiven) options.Define("FILTER_GIVEN", 1).Define("HAS_BIAS", has_bias ? 1 : 0);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("conv/volume.cl", options, made->expression.text()),
                                   std::string(VolumeFunction(tile))));
  RecordedLaunch& launch = made->recorded.emplace_back(std::move(kernel), VolumeSizes(sums, tile))
                               .Input(InputIndex(group, conv.x), element)
                               .Output(0, element);
  if (kGiven) {
    made->AddRows(group, conv.w, storage, launch);
    made->AddRows(group, has_bias ? conv.b : conv.w, storage, launch);
  } else {
    const FilterForm form = FormOf(sums, tile.lanes());
    made->own_packs.push_back(RequestFilter(conv.w, conv.b, form, storage));
    launch.Packed(0, 0).Int(form.bias);
  }
  AppendVolume(conv, sums, launch);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PixelConv> kFamily{.read = Read,
                                    .states = VolumeStates,
                                    .prepare = Prepare<false>,
                                    .params = Space,
                                    .taste = Always<8>};
constexpr Family<PixelConv> kGivenFamily{.read = ReadGiven,
                                         .states = VolumeStates,
                                         .prepare = Prepare<true>,
                                         .params = Space,
                                         .taste = Always<8>};

}  // namespace

extern const KernelDesc kOpenClConvVolume;
const KernelDesc kOpenClConvVolume = {.name = "opencl.conv.volume",
                                      .version = 2,
                                      .match = MatchAs<kFamily>,
                                      .parameters = ParametersOf<kVolumeFields>};

extern const KernelDesc kOpenClConvGiven;
const KernelDesc kOpenClConvGiven = {.name = "opencl.conv.given",
                                     .match = MatchAs<kGivenFamily>,
                                     .parameters = ParametersOf<kVolumeFields>};

}  // namespace fettle::kernels
