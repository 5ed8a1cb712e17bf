// opencl.gather.slices: Gather between row-major buffers.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Of the axis that is indexed.
struct Slices {
  int axis = 0;
};

Result<Slices> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "Gather"_op)
    return Unsupported("computes Gather only");
  const ir::Value &x = group.value(node.inputs[0]), &indices = group.value(node.inputs[1]);
  if (!IsStored(x.dtype) || RowOf(x.dtype).bits > 64)
    return Unsupported("elements of type {} are not moved", DTypeName(x.dtype));
  const int axis = *NormaliseAxis(node.attributes.Int("axis"), x.shape->rank());
  // What a launch cannot report: where the indices are known they are checked here.
  for (int64_t i = 0; indices.is_constant() && i < indices.constant->elements(); ++i) {
    const int64_t index = indices.constant->GetInt(i), extent = (*x.shape)[axis];
    if (index < -extent || index >= extent) return Unsupported("index {} is out of range", index);
  }
  return Slices{axis};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Slices&, const Device&) {
  std::vector<StateAssignment> states = RowAssignments(group);
  states.erase(std::unique(states.begin(), states.end()), states.end());
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Slices& slices,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const Shape &x = problem.shape(node.inputs[0]), &indices = problem.shape(node.inputs[1]);
  const int axis = slices.axis;
  const DType storage = problem.states.outputs[0].storage;
  const DType index_type = group.value(node.inputs[1]).dtype;
  BuildOptions options;
  options.Add(fmt::format("-DELEMENT={} -DINDEX={}", UnsignedName(StorageBytes(storage, 1)),
                          index_type == DType::kI32 ? "int" : "long"));
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("gather/slices.cl", options), "slices"));
  const int64_t outer = x.Count(0, axis), inner = x.Count(axis + 1, x.rank());
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel), PlaceSizes(inner, indices.elements(), outer));
  made->AddRows(group, node.inputs[0], storage, launch);
  made->AddRows(group, node.inputs[1], index_type, launch);
  launch.Output(0, StorageBytes(storage, 1)).Int(x[axis]).Int(indices.elements()).Int(inner);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Slices> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClGatherSlices;
const KernelDesc kOpenClGatherSlices = {.name = "opencl.gather.slices", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
