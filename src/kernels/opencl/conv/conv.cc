// Convolutions in which a work-item computes a tile of columns and channel quads.
//   opencl.conv.direct     any window, stride, dilation, padding and groups
//   opencl.conv.pointwise  1x1 of every pixel
#include <algorithm>

#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

class TiledConv final : public PreparedKernel {
 public:
  TiledConv(const Problem& problem, const PixelConv& conv, const Params& params, bool is_pointwise,
            Expression expression, std::shared_ptr<OpenClKernel> kernel)
      : conv_(conv),
        plan_(PlanQuads(conv, ReadTile(params))),
        tile_(ReadTile(params)),
        is_pointwise_(is_pointwise),
        storage_(problem.states.outputs[0].storage),
        in_dims_(PixelDims(problem.shape(conv.x))),
        out_dims_(PixelDims(problem.shape(conv.y))),
        input_(InputIndex(*problem.group, conv.x)),
        lws_(GroupOf(params)),
        expression_(std::move(expression)),
        kernel_(std::move(kernel)) {}

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{RequestFilter(conv_.w, conv_.b, QuadForm(conv_, plan_), storage_)};
    all.insert(all.end(), expression_.packs().begin(), expression_.packs().end());
    return all;
  }

  Status Launch(const LaunchArgs& args) const override {
    const int64_t bytes = PixelBytes(storage_);
    ArgList list;
    list.Tensor(args.inputs[input_], bytes).Value(in_dims_);
    list.Tensor(args.outputs[0], bytes).Value(out_dims_);
    list.Value(static_cast<cl_int>(conv_.oc)).Memory(args.packed[0]);
    list.Value(static_cast<cl_int>(plan_.blocks * plan_.lanes));
    if (!is_pointwise_) {
      list.Value(WindowArg(conv_)).Value(BordersArg(conv_));
      list.Value(static_cast<cl_int>(plan_.depth)).Value(Int2(plan_.group_ic, plan_.group_oc));
    }
    expression_.AppendArgs(args, 1, list);
    return OpenClStreamOf(args).Launch(*kernel_, Sizes(), list.args());
  }

 private:
  WorkSizes Sizes() const {
    const int64_t tiles = is_pointwise_ ? DivideUp(conv_.out[0] * conv_.out[1], tile_.columns)
                                        : conv_.out[0] * DivideUp(conv_.out[1], tile_.columns);
    WorkSizes sizes = PlaceSizes(tiles, plan_.blocks, conv_.batch);
    sizes.lws = lws_;
    return sizes;
  }

  PixelConv conv_;
  QuadPlan plan_;
  TileShape tile_;
  bool is_pointwise_;
  DType storage_;
  cl_int4 in_dims_, out_dims_;
  size_t input_;
  std::array<size_t, 3> lws_;
  Expression expression_;
  std::shared_ptr<OpenClKernel> kernel_;
};

Status CheckLeft(const PixelConv& conv, const Device& device) {
  if (!BelongsInLocalMemory(conv, device)) return OkStatus();
  return Unsupported("left to opencl.conv.local on '{}'", device.name());
}

Result<std::vector<StateAssignment>> DirectCandidates(const ir::Graph& group,
                                                      const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(group));
  if (conv.IsPointwise()) return Unsupported("left to opencl.conv.pointwise");
  if (conv.groups == conv.ic && conv.oc == conv.ic && conv.ic > 1)
    return Unsupported("left to opencl.conv.depthwise");
  RETURN_IF_ERROR(CheckLeft(conv, device));
  return PixelCandidates(group, conv.y, device);
}

Result<std::vector<StateAssignment>> PointwiseCandidates(const ir::Graph& group,
                                                         const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(group));
  if (!conv.IsPointwise()) return Unsupported("not a 1x1 convolution of every pixel");
  RETURN_IF_ERROR(CheckLeft(conv, device));
  return PixelCandidates(group, conv.y, device);
}

std::vector<Tunable> Tunables(const Problem& problem, const Device&) {
  return TileTunables(ReadPixelConv(*problem.group).value());
}

Params Defaults(const Problem& problem, const Device&) {
  return TileDefaults(ReadPixelConv(*problem.group).value());
}

Status Valid(const Problem&, const Params& params, const Device& device) {
  return CheckGroup(params, device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device, bool is_pointwise) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(*problem.group));
  ASSIGN_OR_RETURN(Expression expression,
                   Expression::Compile(*problem.group, problem.states, conv.y));
  const BuildOptions options = TileOptions(params, problem.states.outputs[0]);
  const ProgramSource program = MakeProgram(is_pointwise ? "conv/pointwise.cl" : "conv/direct.cl",
                                            options, expression.text());
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(program, is_pointwise ? "conv_pointwise" : "conv_direct"));
  return std::unique_ptr<PreparedKernel>(std::make_unique<TiledConv>(
      problem, conv, params, is_pointwise, std::move(expression), std::move(kernel)));
}

}  // namespace

extern const KernelDesc kOpenClConvDirect;
const KernelDesc kOpenClConvDirect = {
    .name = "opencl.conv.direct",
    .device = DeviceKind::kOpenCl,
    .preference = 5,
    .candidates = DirectCandidates,
    .prepare = [](const Problem& problem, const Params& params,
                  const Device& device) { return Prepare(problem, params, device, false); },
    .tunables = Tunables,
    .valid = Valid,
    .default_params = Defaults};

extern const KernelDesc kOpenClConvPointwise;
const KernelDesc kOpenClConvPointwise = {
    .name = "opencl.conv.pointwise",
    .device = DeviceKind::kOpenCl,
    .preference = 10,
    .candidates = PointwiseCandidates,
    .prepare = [](const Problem& problem, const Params& params,
                  const Device& device) { return Prepare(problem, params, device, true); },
    .tunables = Tunables,
    .valid = Valid,
    .default_params = Defaults};

}  // namespace fettle::kernels
