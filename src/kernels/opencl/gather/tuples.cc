// opencl.gather.tuples: GatherND between row-major buffers.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kMostAxes = 8;

struct Tuples {
  int batch = 0;      // axes in front that x and the indices share
  int64_t width = 0;  // indices of a tuple
};

Status CheckIndices(const Constant& indices, const Shape& x, const Tuples& facts) {
  for (int64_t i = 0; i < indices.elements(); ++i) {
    const int axis = facts.batch + static_cast<int>(i % facts.width);
    const int64_t index = indices.GetInt(i), extent = x[axis];
    if (index < -extent || index >= extent) return Unsupported("index {} is out of range", index);
  }
  return OkStatus();
}

Result<Tuples> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "GatherND"_op)
    return Unsupported("computes GatherND only");
  const ir::Value &x = group.value(node.inputs[0]), &indices = group.value(node.inputs[1]);
  if (!IsStored(x.dtype) || RowOf(x.dtype).bits > 64 || RowOf(x.dtype).bits < 8)
    return Unsupported("elements of type {} are not moved", DTypeName(x.dtype));
  if (std::max(x.shape->elements(), group.value(node.outputs[0]).shape->elements()) >
      std::numeric_limits<cl_int>::max())
    return Unsupported("kernels count elements in 32 bits");
  if (x.shape->elements() == 0) return Unsupported("an operand without elements");
  const Shape& tuples = *indices.shape;
  const Tuples facts{static_cast<int>(node.attributes.Int("batch_dims", 0)),
                     tuples[tuples.rank() - 1]};
  if (facts.width < 1 || facts.width > kMostAxes)
    return Unsupported("tuples of {} indices: expected 1 to {}", facts.width, kMostAxes);
  // What a launch cannot report: where the indices are known they are checked here.
  if (indices.is_constant()) RETURN_IF_ERROR(CheckIndices(*indices.constant, *x.shape, facts));
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Tuples&, const Device&) {
  std::vector<StateAssignment> states = RowAssignments(group);
  states.erase(std::unique(states.begin(), states.end()), states.end());
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Tuples& facts,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const Shape &x = problem.shape(node.inputs[0]), &indices = problem.shape(node.inputs[1]);
  const DType storage = problem.states.outputs[0].storage;
  const DType index_type = group.value(node.inputs[1]).dtype;
  BuildOptions options;
  options.Add(fmt::format("-DELEMENT={} -DINDEX={}", UnsignedName(StorageBytes(storage, 1)),
                          index_type == DType::kI32 ? "int" : "long"));
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("gather/tuples.cl", options), "tuples"));
  const int behind = facts.batch + static_cast<int>(facts.width);
  const int64_t outer = x.Count(0, facts.batch), inner = x.Count(behind, x.rank());
  const int64_t count = indices.Count(facts.batch, indices.rank() - 1);
  const Dims strides = RowMajorStrides(x);
  cl_int8 extents{}, steps{};
  for (int i = facts.batch; i < behind; ++i) {
    extents.s[i - facts.batch] = static_cast<cl_int>(x[i]);
    steps.s[i - facts.batch] = static_cast<cl_int>(strides[i]);
  }
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel), PlaceSizes(inner, count, outer));
  made->AddRows(group, node.inputs[0], storage, launch);
  made->AddRows(group, node.inputs[1], index_type, launch);
  launch.Output(0, StorageBytes(storage, 1)).Value(extents).Value(steps).Int(facts.width);
  launch.Int(count).Int(inner).Int(x.Count(facts.batch, x.rank()));
  if (inner * count * outer > 0) made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Tuples> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClGatherTuples;
const KernelDesc kOpenClGatherTuples = {.name = "opencl.gather.tuples", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
