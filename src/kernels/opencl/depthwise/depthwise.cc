// opencl.conv.depthwise: one filter per channel.
#include "kernels/opencl/depthwise/depthwise.h"

#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {

FilterForm DepthwiseForm(const PixelConv& conv) {
  const int64_t quads = DivideUp(conv.oc, 4), taps = conv.taps();
  return {.recipe = "opencl.depthwise",
          .bias = quads * 4,
          .elements = quads * taps * 4,
          .source = [taps, oc = conv.oc](int64_t i) -> int64_t {
            const int64_t o = i / (4 * taps) * 4 + i % 4;
            return o < oc ? o * taps + i / 4 % taps : -1;
          }};
}

std::vector<Tunable> DepthwiseTunables() {
  std::vector<Tunable> all{{"columns", {1, 2, 4, 8}}};
  AppendGroupTunables(all);
  return all;
}

Params DepthwiseDefaults(const PixelConv& conv) {
  const int64_t columns = conv.out[1] > 1 ? 4 : 1;
  Params params{{"columns", columns}};
  AppendGroupDefaults(
      PlaceSizes(conv.out[0] * DivideUp(conv.out[1], columns), DivideUp(conv.oc, 4)), params);
  return params;
}

namespace {

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(group));
  if (conv.groups != conv.ic || conv.oc != conv.ic || conv.ic == 1)
    return Unsupported("not a filter per channel");
  return PixelCandidates(group, conv.y, device);
}

class Depthwise final : public PreparedKernel {
 public:
  Depthwise(const Problem& problem, const PixelConv& conv, const Params& params,
            Expression expression, std::shared_ptr<OpenClKernel> kernel)
      : conv_(conv),
        form_(DepthwiseForm(conv)),
        storage_(problem.states.outputs[0].storage),
        in_dims_(PixelDims(problem.shape(conv.x))),
        out_dims_(PixelDims(problem.shape(conv.y))),
        input_(InputIndex(*problem.group, conv.x)),
        sizes_(PlaceSizes(conv.out[0] * DivideUp(conv.out[1], params.at("columns")),
                          DivideUp(conv.oc, 4), conv.batch)),
        expression_(std::move(expression)),
        kernel_(std::move(kernel)) {
    sizes_.lws = GroupOf(params);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{RequestFilter(conv_.w, conv_.b, form_, storage_)};
    all.insert(all.end(), expression_.packs().begin(), expression_.packs().end());
    return all;
  }

  Status Launch(const LaunchArgs& args) const override {
    const int64_t bytes = PixelBytes(storage_);
    ArgList list;
    list.Tensor(args.inputs[input_], bytes).Value(in_dims_);
    list.Tensor(args.outputs[0], bytes).Value(out_dims_);
    list.Value(static_cast<cl_int>(conv_.oc)).Memory(args.packed[0]);
    list.Value(static_cast<cl_int>(form_.bias)).Value(WindowArg(conv_)).Value(BordersArg(conv_));
    expression_.AppendArgs(args, 1, list);
    return OpenClStreamOf(args).Launch(*kernel_, sizes_, list.args());
  }

 private:
  PixelConv conv_;
  FilterForm form_;
  DType storage_;
  cl_int4 in_dims_, out_dims_;
  size_t input_;
  WorkSizes sizes_;
  Expression expression_;
  std::shared_ptr<OpenClKernel> kernel_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(*problem.group));
  ASSIGN_OR_RETURN(Expression expression,
                   Expression::Compile(*problem.group, problem.states, conv.y));
  BuildOptions options;
  DefineAccess(problem.states.outputs[0], options);
  options.Define("TILE_W", params.at("columns"));
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("depthwise/depthwise.cl", options, expression.text()), "conv_depthwise"));
  return std::unique_ptr<PreparedKernel>(
      std::make_unique<Depthwise>(problem, conv, params, std::move(expression), std::move(kernel)));
}

}  // namespace

extern const KernelDesc kOpenClConvDepthwise;
const KernelDesc kOpenClConvDepthwise = {
    .name = "opencl.conv.depthwise",
    .device = DeviceKind::kOpenCl,
    .preference = 20,
    .candidates = Candidates,
    .prepare = Prepare,
    .tunables = [](const Problem&, const Device&) { return DepthwiseTunables(); },
    .valid = [](const Problem&, const Params& params,
                const Device& device) { return CheckGroup(params, device); },
    .default_params =
        [](const Problem& problem, const Device&) {
          return DepthwiseDefaults(ReadPixelConv(*problem.group).value());
        }};

}  // namespace fettle::kernels
