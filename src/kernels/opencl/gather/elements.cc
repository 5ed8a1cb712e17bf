// opencl.gather.elements: GatherElements between row-major buffers.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr int kMostAxes = 8;

/// Of the axis that is indexed.
struct Elements {
  int axis = 0;
};

Result<Elements> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "GatherElements"_op)
    return Unsupported("computes GatherElements only");
  const ir::Value &x = group.value(node.inputs[0]), &indices = group.value(node.inputs[1]);
  if (!IsStored(x.dtype) || RowOf(x.dtype).bits > 64 || RowOf(x.dtype).bits < 8)
    return Unsupported("elements of type {} are not moved", DTypeName(x.dtype));
  if (x.shape->rank() > kMostAxes) return Unsupported("more than {} axes", kMostAxes);
  if (std::max(x.shape->elements(), indices.shape->elements()) > std::numeric_limits<cl_int>::max())
    return Unsupported("kernels count elements in 32 bits");
  if (x.shape->elements() == 0) return Unsupported("an operand without elements");
  const int axis = *NormaliseAxis(node.attributes.Int("axis"), x.shape->rank());
  // What a launch cannot report: where the indices are known they are checked here.
  for (int64_t i = 0; indices.is_constant() && i < indices.constant->elements(); ++i) {
    const int64_t index = indices.constant->GetInt(i), extent = (*x.shape)[axis];
    if (index < -extent || index >= extent) return Unsupported("index {} is out of range", index);
  }
  return Elements{axis};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Elements&,
                                            const Device&) {
  std::vector<StateAssignment> states = RowAssignments(group);
  states.erase(std::unique(states.begin(), states.end()), states.end());
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Elements& facts,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const Shape &x = problem.shape(node.inputs[0]), &y = problem.shape(node.outputs[0]);
  const DType storage = problem.states.outputs[0].storage;
  const DType index_type = group.value(node.inputs[1]).dtype;
  BuildOptions options;
  options.Add(fmt::format("-DELEMENT={} -DINDEX={}", UnsignedName(StorageBytes(storage, 1)),
                          index_type == DType::kI32 ? "int" : "long"));
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("gather/elements.cl", options), "elements"));
  cl_int8 dims, steps{};
  std::fill(std::begin(dims.s), std::end(dims.s), 1);
  const Dims strides = RowMajorStrides(x);
  for (int i = 0; i < x.rank(); ++i) {
    const int at = kMostAxes - x.rank() + i;
    dims.s[at] = static_cast<cl_int>(y[i]);
    steps.s[at] = i == facts.axis ? 0 : static_cast<cl_int>(strides[i]);
  }
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel), PlaceSizes(y.elements()));
  made->AddRows(group, node.inputs[0], storage, launch);
  made->AddRows(group, node.inputs[1], index_type, launch);
  launch.Output(0, StorageBytes(storage, 1)).Value(dims).Value(steps).Int(y.elements());
  launch.Int(x[facts.axis]).Int(strides[facts.axis]);
  if (y.elements() > 0) made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Elements> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClGatherElements;
const KernelDesc kOpenClGatherElements = {.name = "opencl.gather.elements",
                                          .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
