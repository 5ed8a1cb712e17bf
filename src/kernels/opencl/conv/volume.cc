// opencl.conv.volume: convolutions over three spatial axes of row-major tensors, any window,
// stride, dilation, padding and groups, with an epilogue. Sums are f32.
#include "kernels/opencl/conv/pixel_conv.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kSide = 16;  // a work-group has kSide x kSide items

/// Below so many channels of a group most of a work-group's would be padding.
constexpr int64_t kFewChannels = 16;

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

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const PixelConv& conv,
                                            const Device&) {
  std::vector<StateAssignment> states = RowAssignments(group);
  RETURN_IF_ERROR(Expression::Compile(group, states[0], conv.y).status());
  return states;
}

struct VolumeTile {
  int64_t channel_quads = 1;  // of an item
  int64_t lanes() const { return 4 * kSide * channel_quads; }
};
constexpr Fields kFields("conv/volume.cl",
                         Field{
                             "channel_quads", &VolumeTile::channel_quads, {1, 2}, "CHANNEL_QUADS"});

bool HasFewChannels(const PixelConv& conv) { return conv.oc / conv.groups < kFewChannels; }

ParamSpace Space(const Problem&, const PixelConv& conv, const Device& device) {
  const int64_t channels = conv.oc / conv.groups;
  const VolumeTile usual{.channel_quads = channels > 64 ? 2 : 1};
  const int64_t items = AsOpenCl(device).facts().max_work_group_size;
  return {kFields.Tunables(), kFields.Write(usual), [items](const Params&) {
            if (items >= kSide * kSide) return OkStatus();
            return Unsupported("a work-group of 256 items: the device takes {}", items);
          }};
}

/// [group][block][input channel, tap][lanes]
FilterForm FormOf(const PixelConv& conv, int64_t lanes) {
  const int64_t channels = conv.oc / conv.groups, blocks = DivideUp(channels, lanes);
  const int64_t depth = conv.ic / conv.groups * conv.taps();
  return {.recipe = fmt::format("opencl.conv.volume.{}.{}", conv.groups, lanes),
          .bias = DivideUp(conv.oc, 4) * 4,
          .elements = conv.groups * blocks * depth * lanes,
          .dims = {conv.groups, channels, depth},
          .axes = {{conv.groups, 0}, {blocks, 1, lanes}, {depth, 2}, {lanes, 1}}};
}

/// (depth, height, width, `last`).
cl_int4 Volume(const std::array<int64_t, 3>& axes, int64_t last) {
  return Int4(axes[0], axes[1], axes[2], last);
}

WorkSizes SizesOf(const PixelConv& conv, int64_t lanes) {
  const int64_t quads = conv.out[0] * conv.out[1] * DivideUp(conv.out[2], 4);
  if (HasFewChannels(conv)) return PlaceSizes(quads, conv.oc, conv.batch);
  WorkSizes sizes = GroupSizes(kSide, DivideUp(quads, kSide), 1, conv.batch * conv.groups);
  sizes.gws[1] = static_cast<size_t>(kSide * DivideUp(conv.oc / conv.groups, lanes));
  sizes.lws = {kSide, kSide, 1};
  return sizes;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  const VolumeTile tile = kFields.Read(params);
  const DType storage = problem.states.outputs[0].storage;
  const int64_t element = StorageBytes(storage, 1);
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->expression, Expression::Compile(*problem.group, problem.states, conv.y));
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  kFields.Define(tile, options);
  options.Define("KERNEL_D", conv.kernel[0]).Define("KERNEL_H", conv.kernel[1]);
  options.Define("KERNEL_W", conv.kernel[2]);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("conv/volume.cl", options, made->expression.text()),
                                   HasFewChannels(conv) ? "conv_volume_few" : "conv_volume"));
  const FilterForm form = FormOf(conv, tile.lanes());
  made->own_packs.push_back(RequestFilter(conv.w, conv.b, form, storage));
  made->recorded.emplace_back(std::move(kernel), SizesOf(conv, tile.lanes()))
      .Input(InputIndex(*problem.group, conv.x), element)
      .Output(0, element)
      .Packed(0, 0)
      .Int(form.bias)
      .Value(Volume(conv.in, conv.ic / conv.groups))
      .Value(Volume(conv.out, conv.oc / conv.groups))
      .Value(Volume(conv.stride, conv.groups))
      .Value(Volume(conv.pad, 0))
      .Value(Volume(conv.dilation, 0));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PixelConv> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<8>};

}  // namespace

extern const KernelDesc kOpenClConvVolume;
const KernelDesc kOpenClConvVolume = {
    .name = "opencl.conv.volume", .match = MatchAs<kFamily>, .parameters = ParametersOf<kFields>};

}  // namespace fettle::kernels
