// opencl.quantised.dynamic: DynamicQuantizeLinear in pixels or row-major: the range of the input in
// parts, then every element.
#include <algorithm>

#include "kernels/opencl/quantised/byte_product.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// ROW_ITEMS of rows.clh; as many parts at most.
constexpr int64_t kMaxParts = static_cast<int64_t>(kGroupItems);
constexpr int64_t kPixelsPerItem = 8;

Result<Shape> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "DynamicQuantizeLinear"_op)
    return Unsupported("computes DynamicQuantizeLinear only");
  if (group.inputs.size() != 1 || group.outputs != group.nodes()[0].outputs)
    return Unsupported("a constant operand, or an unused result");
  const ir::Value& x = group.value(group.inputs[0]);
  if (x.shape->elements() == 0) return Unsupported("an empty operand");
  RETURN_IF_ERROR(CheckCounts(*x.shape, {}, {}));
  return *x.shape;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Shape& x,
                                            const Device& device) {
  std::vector<State> forms = RowStates();
  if (x.rank() == 4) {
    const std::vector<State> pixels = PixelStates(device);
    forms.insert(forms.begin(), pixels.begin(), pixels.end());
  }
  std::vector<StateAssignment> all;
  for (const State& form : forms) {
    all.push_back(StatesBeside(group, form));
    if (IsPixels(form)) all.back().outputs[0] = BytePixels(DType::kU8);
  }
  return all;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Shape& shape,
                                                const Params&, const Device& device) {
  const State& state = problem.states.inputs[0];
  const bool is_pixels = IsPixels(state);
  BuildOptions options = AccessOptions(state);
  options.Define("PIXELS", is_pixels ? 1 : 0).Define("ROW_ITEMS", kMaxParts);
  const ProgramSource program = MakeProgram("quantised/dynamic.cl", options);
  const OpenClDevice& opencl = AsOpenCl(device);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> range,
                   opencl.BuildKernel(program, "dynamic_range"));
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> quantise,
                   opencl.BuildKernel(program, "dynamic_quantise"));

  const int64_t quads = DivideUp(shape.elements(), 4);
  const cl_int4 dims = is_pixels ? PixelDims(shape) : Int4(quads, 1, 1, 1);
  const int64_t channels = is_pixels ? shape[1] : shape.elements();
  const int64_t pixels = is_pixels ? DivideUp(channels, 4) * shape[0] * shape[2] * shape[3] : quads;
  const int64_t unit = is_pixels ? PixelBytes(state.storage) : StorageBytes(state.storage, 1);
  const int64_t parts = std::clamp<int64_t>(pixels / (kMaxParts * kPixelsPerItem), 1, kMaxParts);

  auto kernel = std::make_unique<RecordedKernel>();
  kernel->workspace = StorageBytes(DType::kF32, kMaxParts * 2);
  RecordedLaunch first(std::move(range), GroupSizes(kGroupItems, parts));
  first.Input(0, unit).Workspace(0, 4).Value(dims).Int(channels).Int(parts * kMaxParts);
  const int64_t groups = DivideUp(pixels, kMaxParts * kPixelsPerItem);
  RecordedLaunch second(std::move(quantise), GroupSizes(kGroupItems, groups));
  second.Input(0, unit)
      .Output(0, is_pixels ? 4 : 1)
      .Output(1, StorageBytes(state.storage, 1))
      .Output(2, 1)
      .Workspace(0, 4);
  second.Value(dims).Int(channels).Int(parts).Int(groups * kMaxParts);
  kernel->recorded = {std::move(first), std::move(second)};
  return std::unique_ptr<PreparedKernel>(std::move(kernel));
}

constexpr Family<Shape> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClQuantisedDynamic;
const KernelDesc kOpenClQuantisedDynamic = {.name = "opencl.quantised.dynamic",
                                            .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
