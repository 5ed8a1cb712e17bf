// opencl.gather.tuples: GatherND between row-major buffers.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/gather/indices.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kMostAxes = 8;

struct Tuples {
  int batch = 0;      // axes in front that x and the indices share
  int64_t width = 0;  // indices of a tuple
};

Result<Tuples> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "GatherND"_op)
    return Unsupported("computes GatherND only");
  const ir::Value &x = group.value(node.inputs[0]), &indices = group.value(node.inputs[1]);
  RETURN_IF_ERROR(CheckGathered(group, node));
  const Shape& tuples = *indices.shape;
  const Tuples facts{static_cast<int>(node.attributes.Int("batch_dims", 0)),
                     tuples[tuples.rank() - 1]};
  if (facts.width < 1 || facts.width > kMostAxes)
    return Unsupported("tuples of {} indices: expected 1 to {}", facts.width, kMostAxes);
  Dims extents;
  for (int i = 0; i < facts.width; ++i) extents.push_back((*x.shape)[facts.batch + i]);
  RETURN_IF_ERROR(CheckIndices(indices, extents));
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Tuples&, const Device&) {
  return RowAssignments(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Tuples& facts,
                                                const Params&, const Device& device) {
  const ir::Node& node = problem.node();
  const Shape &x = problem.shape(node.inputs[0]), &indices = problem.shape(node.inputs[1]);
  const int behind = facts.batch + static_cast<int>(facts.width);
  const int64_t outer = x.Count(0, facts.batch), inner = x.Count(behind, x.rank());
  const int64_t count = indices.Count(facts.batch, indices.rank() - 1);
  const Dims strides = RowMajorStrides(x);
  cl_int8 extents{}, steps{};
  for (int i = facts.batch; i < behind; ++i) {
    extents.s[i - facts.batch] = static_cast<cl_int>(x[i]);
    steps.s[i - facts.batch] = static_cast<cl_int>(strides[i]);
  }
  return PrepareGather(problem, device, "gather/tuples.cl", "tuples",
                       PlaceSizes(inner, count, outer), [&](RecordedLaunch& launch) {
                         launch.Value(extents).Value(steps).Int(facts.width);
                         launch.Int(count).Int(inner).Int(x.Count(facts.batch, x.rank()));
                       });
}

constexpr Family<Tuples> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClGatherTuples;
const KernelDesc kOpenClGatherTuples = {.name = "opencl.gather.tuples", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
