// opencl.gather.elements: GatherElements between row-major buffers.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/gather/indices.h"
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
  const ir::Value& x = group.value(node.inputs[0]);
  RETURN_IF_ERROR(CheckGathered(group, node));
  if (x.shape->rank() > kMostAxes) return Unsupported("more than {} axes", kMostAxes);
  const int axis = *NormaliseAxis(node.attributes.Int("axis"), x.shape->rank());
  RETURN_IF_ERROR(CheckIndices(group.value(node.inputs[1]), {{(*x.shape)[axis]}}));
  return Elements{axis};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Elements&,
                                            const Device&) {
  return RowAssignments(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Elements& facts,
                                                const Params&, const Device& device) {
  const ir::Node& node = problem.node();
  const Shape &x = problem.shape(node.inputs[0]), &y = problem.shape(node.outputs[0]);
  cl_int8 dims, steps{};
  std::fill(std::begin(dims.s), std::end(dims.s), 1);
  const Dims strides = RowMajorStrides(x);
  for (int i = 0; i < x.rank(); ++i) {
    const int at = kMostAxes - x.rank() + i;
    dims.s[at] = static_cast<cl_int>(y[i]);
    steps.s[at] = i == facts.axis ? 0 : static_cast<cl_int>(strides[i]);
  }
  return PrepareGather(problem, device, "gather/elements.cl", "elements", PlaceSizes(y.elements()),
                       [&](RecordedLaunch& launch) {
                         launch.Value(dims).Value(steps).Int(y.elements());
                         launch.Int(x[facts.axis]).Int(strides[facts.axis]);
                       });
}

constexpr Family<Elements> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClGatherElements;
const KernelDesc kOpenClGatherElements = {.name = "opencl.gather.elements",
                                          .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
