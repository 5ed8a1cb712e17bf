// opencl.conv_transpose.shuffle: transposed convolutions over one to three axes of row-major
// tensors, any window, stride, dilation, padding and groups, with an epilogue. What lies at one
// phase of the stride is a convolution of the input as it is; all phases are one convolution of so
// many times the channels, whose outputs are put where they belong (conv/volume.cl). Sums are f32.
#include "kernels/opencl/conv/volume.h"

namespace fettle::kernels {
namespace {

/// The convolution of all phases.
struct Phases : PixelConv {
  ConvGeometry inner;             // stride 1, dilation -1: tap t lies t elements before
  VolumeSums sums;                // of `inner`
  std::array<int64_t, 3> origin;  // where its first output lies in y, at phase 0
};

int64_t DivideDown(int64_t a, int64_t b) { return a >= 0 ? a / b : -DivideUp(-a, b); }

int64_t Volume(const std::array<int64_t, 3>& axes) { return axes[0] * axes[1] * axes[2]; }

Phases PhasesOf(const PixelConv& conv) {
  Phases all{conv, conv, {}, {}};
  for (size_t a = 0; a < 3; ++a) {
    const int64_t stride = conv.stride[a], reach = (conv.kernel[a] - 1) * conv.dilation[a] + 1;
    const int64_t first = DivideDown(conv.pad[a], stride);
    all.inner.kernel[a] = DivideUp(reach, stride);
    all.inner.stride[a] = 1;
    all.inner.dilation[a] = -1;
    all.inner.pad[a] = -first;
    all.inner.out[a] = DivideDown(conv.out[a] - 1 + conv.pad[a], stride) + 1 - first;
    all.origin[a] = first * stride - conv.pad[a];
  }
  all.sums = {.batch = conv.batch,
              .groups = conv.groups,
              .channels = conv.oc / conv.groups * Volume(conv.stride),
              .depth = conv.ic / conv.groups * all.inner.taps(),
              .out = all.inner.out};
  return all;
}

Result<Phases> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelOperands(group, "ConvTranspose"));
  const Shape& x = *group.value(conv.x).shape;
  const Shape& y = *group.value(conv.y).shape;
  if (!HasVolumeRank(x)) return Unsupported("more than three axes");
  ASSIGN_OR_RETURN(static_cast<ConvGeometry&>(conv),
                   ReadTransposeGeometry(group, group.nodes()[0]));
  if (conv.ic == 0 || y.elements() == 0) return Unsupported("no channels or no outputs");
  RETURN_IF_ERROR(CheckCounts(x, *group.value(conv.w).shape, y));
  Phases all = PhasesOf(conv);
  // Taps that no phase has are zeros: of strides longer than the window, and between dilated taps.
  constexpr int64_t kMostZeros = 16;
  if (Volume(conv.stride) * all.inner.taps() > kMostZeros * conv.taps())
    return Unsupported("strides or dilations that leave most taps empty");
  return all;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Phases& all,
                                            const Device& device) {
  return VolumeStates(group, all, device);
}

ParamSpace Space(const Problem&, const Phases& all, const Device& device) {
  return VolumeSpace(all.sums, device);
}

/// Which tap of a window of `conv` is step `step` at `phase`, both counted over three axes; -1:
/// none.
int64_t TapAt(const Phases& all, int64_t phase, int64_t step) {
  std::array<int64_t, 3> taps;
  for (size_t a = 3; a-- > 0;) {
    const int64_t stride = all.stride[a], steps = all.inner.kernel[a];
    const int64_t reached = phase % stride + step % steps * stride;
    taps[a] = reached / all.dilation[a];
    if (reached % all.dilation[a] != 0 || taps[a] >= all.kernel[a]) return -1;
    phase /= stride;
    step /= steps;
  }
  return (taps[0] * all.kernel[1] + taps[1]) * all.kernel[2] + taps[2];
}

/// [group][block][input channel, step][lanes], of weights [group][input channel][channel][tap].
FilterForm FormOf(const Phases& all, int64_t lanes) {
  const VolumeSums& sums = all.sums;
  const int64_t blocks = DivideUp(sums.channels, lanes);
  FilterForm form{.recipe = "opencl.conv_transpose.shuffle",
                  .bias = DivideUp(all.oc, 4) * 4,
                  .elements = sums.groups * blocks * sums.depth * lanes};
  for (const auto* axes : {&all.stride, &all.dilation, &all.kernel})
    form.recipe += fmt::format(".{}x{}x{}", (*axes)[0], (*axes)[1], (*axes)[2]);
  form.recipe += fmt::format(".{}.{}", sums.groups, lanes);
  form.source = [all, lanes, blocks](int64_t i) -> int64_t {
    const int64_t phases = Volume(all.stride), steps = all.inner.taps();
    const int64_t k = i / lanes % all.sums.depth, block = i / lanes / all.sums.depth;
    const int64_t channel = block % blocks * lanes + i % lanes;
    if (channel >= all.sums.channels) return -1;
    const int64_t tap = TapAt(all, channel % phases, k % steps);
    if (tap < 0) return -1;
    const int64_t ic = block / blocks * (all.ic / all.groups) + k / steps;
    return (ic * (all.oc / all.groups) + channel / phases) * all.taps() + tap;
  };
  return form;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Phases& all,
                                                const Params& params, const Device& device) {
  const VolumeTile tile = kVolumeFields.Read(params);
  const State& state = problem.states.outputs[0];
  const int64_t element = StorageBytes(state.storage, 1);
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->expression, Expression::Compile(*problem.group, problem.states, all.y));
  BuildOptions options = VolumeOptions(tile, all.inner.kernel, state);
  options.Define("SHUFFLE", 1).Define("STRIDE_D", all.stride[0]);
  options.Define("STRIDE_H", all.stride[1]).Define("STRIDE_W", all.stride[2]);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("conv/volume.cl", options, made->expression.text()),
                                   std::string(VolumeFunction(tile))));
  const FilterForm form = FormOf(all, tile.lanes());
  made->own_packs.push_back(RequestFilter(all.w, all.b, form, state.storage));
  RecordedLaunch& launch =
      made->recorded.emplace_back(std::move(kernel), VolumeSizes(all.sums, tile))
          .Input(InputIndex(*problem.group, all.x), element)
          .Output(0, element)
          .Packed(0, 0)
          .Int(form.bias);
  AppendVolume(all.inner, all.sums, launch);
  launch.Value(VolumeArg(all.out, 0)).Value(VolumeArg(all.origin, 0));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

/// Below opencl.conv_transpose.gather on a CPU, whose items walk taps without a detour.
int Taste(const Phases&, const Device& device) { return AsOpenCl(device).facts().is_cpu ? 8 : 11; }

constexpr Family<Phases> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Taste};

}  // namespace

extern const KernelDesc kOpenClConvTransposeShuffle;
const KernelDesc kOpenClConvTransposeShuffle = {.name = "opencl.conv_transpose.shuffle",
                                                .match = MatchAs<kFamily>,
                                                .parameters = ParametersOf<kVolumeFields>};

}  // namespace fettle::kernels
