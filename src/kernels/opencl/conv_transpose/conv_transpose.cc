// opencl.conv_transpose.gather: transposed convolutions of any window, stride and groups.
#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/conv_transpose/op.h"

namespace fettle::kernels {
namespace {

/// Node 0 as a PixelConv: output element i * stride + t * dilation - pad meets input element i.
Result<PixelConv> ReadTranspose(const ir::Graph& group) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelOperands(group, "ConvTranspose"));
  const Shape& x = *group.value(conv.x).shape;
  const Shape& w = *group.value(conv.w).shape;
  if (!HasPixelRank(x)) return Unsupported("{} axes: expected height and width", x.rank() - 2);
  ASSIGN_OR_RETURN(const ops::ConvTransposeAttributes attributes,
                   ops::ReadConvTranspose(group.nodes()[0], x, w));
  conv.batch = x[0];
  conv.ic = x[1];
  conv.oc = w[1] * attributes.group;
  conv.groups = attributes.group;
  conv.in = PlaneOf(x);
  for (size_t i = 0; i < 2; ++i) {
    conv.out[i] = AlongPlane(attributes.output, i, 1);
    conv.kernel[i] = AlongPlane(attributes.kernel, i, 1);
    conv.stride[i] = AlongPlane(attributes.strides, i, 1);
    conv.dilation[i] = AlongPlane(attributes.dilations, i, 1);
    conv.pad[i] = AlongPlane(attributes.pad_begin, i, 0);
  }
  RETURN_IF_ERROR(CheckCounts(x, w, *group.value(conv.y).shape));
  return conv;
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadTranspose(group));
  return PixelCandidates(group, conv.y, device);
}

class Gather final : public PreparedKernel {
 public:
  Gather(const Problem& problem, const PixelConv& conv, const Params& params, Expression expression,
         std::shared_ptr<OpenClKernel> kernel)
      : conv_(conv),
        plan_(PlanQuads(conv, ReadTile(params))),
        storage_(problem.states.outputs[0].storage),
        in_dims_(PixelDims(problem.shape(conv.x))),
        out_dims_(PixelDims(problem.shape(conv.y))),
        input_(InputIndex(*problem.group, conv.x)),
        expression_(std::move(expression)),
        kernel_(std::move(kernel)) {
    const int64_t tiles = DivideUp(DivideUp(conv.out[1], conv.stride[1]), params.at("columns"));
    sizes_ = PlaceSizes(conv.out[0] * conv.stride[1] * tiles, plan_.blocks, conv.batch);
    sizes_.lws = GroupOf(params);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{
        RequestFilter(conv_.w, conv_.b, QuadForm(conv_, plan_, true), storage_)};
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
    list.Value(WindowArg(conv_)).Value(BordersArg(conv_));
    list.Value(static_cast<cl_int>(plan_.depth)).Value(Int2(plan_.group_ic, plan_.group_oc));
    expression_.AppendArgs(args, 1, list);
    return OpenClStreamOf(args).Launch(*kernel_, sizes_, list.args());
  }

 private:
  PixelConv conv_;
  QuadPlan plan_;
  DType storage_;
  cl_int4 in_dims_, out_dims_;
  size_t input_;
  WorkSizes sizes_;
  Expression expression_;
  std::shared_ptr<OpenClKernel> kernel_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadTranspose(*problem.group));
  ASSIGN_OR_RETURN(Expression expression,
                   Expression::Compile(*problem.group, problem.states, conv.y));
  const ProgramSource program =
      MakeProgram("conv_transpose/conv_transpose.cl",
                  TileOptions(params, problem.states.outputs[0]), expression.text());
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(program, "conv_transpose"));
  return std::unique_ptr<PreparedKernel>(
      std::make_unique<Gather>(problem, conv, params, std::move(expression), std::move(kernel)));
}

}  // namespace

extern const KernelDesc kOpenClConvTransposeGather;
const KernelDesc kOpenClConvTransposeGather = {
    .name = "opencl.conv_transpose.gather",
    .device = DeviceKind::kOpenCl,
    .preference = 10,
    .candidates = Candidates,
    .prepare = Prepare,
    .tunables = [](const Problem& problem,
                   const Device&) { return TileTunables(ReadTranspose(*problem.group).value()); },
    .valid = [](const Problem&, const Params& params,
                const Device& device) { return CheckGroup(params, device); },
    .default_params =
        [](const Problem& problem, const Device&) {
          return TileDefaults(ReadTranspose(*problem.group).value());
        }};

}  // namespace fettle::kernels
