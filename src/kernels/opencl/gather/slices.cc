// opencl.gather.slices: Gather between row-major buffers.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/gather/indices.h"
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
  const ir::Value& x = group.value(node.inputs[0]);
  RETURN_IF_ERROR(CheckGathered(group, node));
  const int axis = *NormaliseAxis(node.attributes.Int("axis"), x.shape->rank());
  RETURN_IF_ERROR(CheckIndices(group.value(node.inputs[1]), {{(*x.shape)[axis]}}));
  return Slices{axis};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Slices&, const Device&) {
  return RowAssignments(group);
}

/// Elements of a slice that a work-item moves at once: 16 bytes where slices are made of those. Few
/// widths are few programs.
int64_t WidthOf(int64_t inner, int64_t element_bytes) {
  constexpr int64_t kBytes = 16;
  const int64_t width = kBytes / element_bytes;
  return inner % width == 0 ? width : 1;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Slices& slices,
                                                const Params&, const Device& device) {
  const ir::Node& node = problem.node();
  const Shape &x = problem.shape(node.inputs[0]), &indices = problem.shape(node.inputs[1]);
  const int axis = slices.axis;
  const int64_t outer = x.Count(0, axis), inner = x.Count(axis + 1, x.rank());
  const int64_t width = WidthOf(inner, StorageBytes(problem.states.outputs[0].storage, 1));
  return PrepareGather(
      problem, device, "gather/slices.cl", "slices",
      PlaceSizes(inner / width, indices.elements(), outer),
      [&](RecordedLaunch& launch) {
        launch.Int(x[axis]).Int(indices.elements()).Int(inner / width);
      },
      width);
}

constexpr Family<Slices> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClGatherSlices;
const KernelDesc kOpenClGatherSlices = {.name = "opencl.gather.slices", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
