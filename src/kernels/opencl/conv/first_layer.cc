// opencl.conv.first_layer: few channels of a row-major input to pixels of four.
#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// From here on whole quads of channels are read at less cost.
constexpr int64_t kMostChannels = 4;

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(group));
  if (conv.ic > kMostChannels || conv.groups != 1)
    return Unsupported("more than {} channels, or groups of them", kMostChannels);
  if (group.outputs.size() != 1) return Unsupported("a value inside the group is an output");
  const size_t input = InputIndex(group, conv.x);
  std::vector<StateAssignment> all;
  for (const State& state : PixelStates(device)) {
    StateAssignment states = StatesBeside(group, state);
    states.inputs[input] = RowStateOf(group.value(conv.x), state);
    RETURN_IF_ERROR(Expression::Compile(group, states, conv.y).status());
    all.push_back(std::move(states));
  }
  return all;
}

/// [block][channel][tap][lanes]
FilterForm FormOf(const PixelConv& conv, int64_t lanes) {
  const int64_t blocks = DivideUp(conv.oc, lanes), depth = conv.ic * conv.taps();
  return {.recipe = fmt::format("opencl.conv.first.{}", lanes),
          .bias = blocks * lanes,
          .elements = blocks * depth * lanes,
          .source = [lanes, depth, oc = conv.oc](int64_t i) -> int64_t {
            const int64_t o = i / (depth * lanes) * lanes + i % lanes;
            return o < oc ? o * depth + i / lanes % depth : -1;
          }};
}

class FirstLayer final : public PreparedKernel {
 public:
  FirstLayer(const Problem& problem, const PixelConv& conv, const Params& params,
             Expression expression, std::shared_ptr<OpenClKernel> kernel)
      : conv_(conv),
        form_(FormOf(conv, ReadTile(params).lanes())),
        storage_(problem.states.outputs[0].storage),
        out_dims_(PixelDims(problem.shape(conv.y))),
        input_(InputIndex(*problem.group, conv.x)),
        expression_(std::move(expression)),
        kernel_(std::move(kernel)) {
    const TileShape tile = ReadTile(params);
    sizes_ = PlaceSizes(conv.out[0] * DivideUp(conv.out[1], tile.columns),
                        DivideUp(conv.oc, tile.lanes()), conv.batch);
    sizes_.lws = GroupOf(params);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{RequestFilter(conv_.w, conv_.b, form_, storage_)};
    all.insert(all.end(), expression_.packs().begin(), expression_.packs().end());
    return all;
  }

  Status Launch(const LaunchArgs& args) const override {
    ArgList list;
    list.Tensor(args.inputs[input_], ByteSize(storage_));
    list.Value(Int4(conv_.ic, conv_.in[0], conv_.in[1], conv_.batch));
    list.Tensor(args.outputs[0], PixelBytes(storage_)).Value(out_dims_);
    list.Value(static_cast<cl_int>(conv_.oc)).Memory(args.packed[0]);
    list.Value(static_cast<cl_int>(form_.bias)).Value(WindowArg(conv_)).Value(BordersArg(conv_));
    expression_.AppendArgs(args, 1, list);
    return OpenClStreamOf(args).Launch(*kernel_, sizes_, list.args());
  }

 private:
  PixelConv conv_;
  FilterForm form_;
  DType storage_;
  cl_int4 out_dims_;
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
  const ProgramSource program = MakeProgram(
      "conv/first_layer.cl", TileOptions(params, problem.states.outputs[0]), expression.text());
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(program, "conv_first_layer"));
  return std::unique_ptr<PreparedKernel>(std::make_unique<FirstLayer>(
      problem, conv, params, std::move(expression), std::move(kernel)));
}

}  // namespace

extern const KernelDesc kOpenClConvFirstLayer;
const KernelDesc kOpenClConvFirstLayer = {
    .name = "opencl.conv.first_layer",
    .device = DeviceKind::kOpenCl,
    .preference = 8,
    .candidates = Candidates,
    .prepare = Prepare,
    .tunables = [](const Problem& problem,
                   const Device&) { return TileTunables(ReadPixelConv(*problem.group).value()); },
    .valid = [](const Problem&, const Params& params,
                const Device& device) { return CheckGroup(params, device); },
    .default_params =
        [](const Problem& problem, const Device&) {
          return TileDefaults(ReadPixelConv(*problem.group).value());
        }};

}  // namespace fettle::kernels
