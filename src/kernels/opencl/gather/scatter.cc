// opencl.scatter.elements and opencl.scatter.tuples: ScatterElements and ScatterND between
// row-major buffers.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/gather/indices.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/gather/op.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int kMostAxes = 8;
/// Of a work-group, which looks at each update once.
constexpr int64_t kItems = 256;
/// Elements look at all updates that may be their own: so many in all take milliseconds.
constexpr int64_t kMostLooks = int64_t{1} << 33;

struct Facts {
  ops::Reduction reduction = ops::Reduction::kNone;
  int axis = 0;       // of ScatterElements
  int64_t width = 0;  // indices of a tuple, of ScatterND
};

Status CheckType(DType type, ops::Reduction reduction) {
  const bool is_moved = IsStored(type) && RowOf(type).bits <= 64;
  const bool is_computed =
      IsFloatValue(type) || (!ElementTypeName(type).empty() && type != DType::kBool);
  if (reduction == ops::Reduction::kNone ? !is_moved : !is_computed)
    return Unsupported("elements of type {}", DTypeName(type));
  return OkStatus();
}

Result<Facts> ReadNode(const ir::Graph& group, std::string_view op) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != op) return Unsupported("computes {} only", op);
  int64_t most = 0;
  for (ir::ValueId id : node.inputs) most = std::max(most, group.value(id).shape->elements());
  const ir::Value& x = group.value(node.inputs[0]);
  if (x.shape->elements() == 0 || most > std::numeric_limits<cl_int>::max())
    return Unsupported("no elements, or more than 32 bits count");
  ASSIGN_OR_RETURN(const ops::Reduction reduction, ops::ReadReduction(node));
  RETURN_IF_ERROR(CheckType(x.dtype, reduction));
  return Facts{.reduction = reduction};
}

Status CheckLooks(int64_t elements, int64_t updates) {
  if (elements > kMostLooks / std::max<int64_t>(1, updates))
    return Unsupported("{} elements would look at {} updates each", elements, updates);
  return OkStatus();
}

Result<Facts> ReadElements(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(Facts facts, ReadNode(group, "ScatterElements"));
  const ir::Node& node = group.nodes()[0];
  const Shape &x = *group.value(node.inputs[0]).shape, &u = *group.value(node.inputs[1]).shape;
  if (x.rank() > kMostAxes) return Unsupported("more than {} axes", kMostAxes);
  facts.axis = *NormaliseAxis(node.attributes.Int("axis"), x.rank());
  RETURN_IF_ERROR(CheckLooks(x.elements(), u[facts.axis]));
  RETURN_IF_ERROR(CheckIndices(group.value(node.inputs[1]), {{x[facts.axis]}}));
  return facts;
}

Result<Facts> ReadTuples(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(Facts facts, ReadNode(group, "ScatterND"));
  const ir::Node& node = group.nodes()[0];
  const Shape& indices = *group.value(node.inputs[1]).shape;
  facts.width = indices[indices.rank() - 1];
  if (facts.width < 1 || facts.width > kMostAxes)
    return Unsupported("tuples of {} indices: expected 1 to {}", facts.width, kMostAxes);
  const Shape& x = *group.value(node.inputs[0]).shape;
  RETURN_IF_ERROR(CheckLooks(x.elements(), indices.Count(0, indices.rank() - 1)));
  Dims extents;
  for (int i = 0; i < facts.width; ++i) extents.push_back(x[i]);
  RETURN_IF_ERROR(CheckIndices(group.value(node.inputs[1]), extents));
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return RowAssignments(group);
}

BuildOptions OptionsOf(const Problem& problem, const Facts& facts) {
  const ir::Node& node = problem.node();
  const DType type = problem.group->value(node.inputs[0]).dtype,
              storage = problem.states.outputs[0].storage;
  BuildOptions options;
  if (facts.reduction == ops::Reduction::kNone) {
    options.Add(fmt::format("-DELEMENT={}", UnsignedName(StorageBytes(storage, 1))));
  } else if (IsFloatValue(type)) {
    options = AccessOptions(problem.states.outputs[0]);
  } else {
    options.Add(fmt::format("-DELEMENT={}", ElementTypeName(type)));
  }
  const DType index = problem.group->value(node.inputs[1]).dtype;
  options.Add(index == DType::kI32 ? "-DINDEX=int" : "-DINDEX=long");
  const auto rule = [&]() -> int64_t {
    switch (facts.reduction) {
      case ops::Reduction::kNone: return 0;
      case ops::Reduction::kAdd: return 1;
      case ops::Reduction::kMul: return 2;
      case ops::Reduction::kMax: return 3;
      case ops::Reduction::kMin: return 4;
    }
    return 0;
  };
  options.Define("RULE", rule()).Define("ITEMS", kItems);
  return options;
}

/// The launch of `function` with the operands; `arguments` adds the others.
template <typename Arguments>
Result<std::unique_ptr<PreparedKernel>> Make(const Problem& problem, const Facts& facts,
                                             const Device& device, std::string_view function,
                                             Arguments&& arguments) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("gather/scatter.cl", OptionsOf(problem, facts)),
                                   std::string(function)));
  const DType storage = problem.states.outputs[0].storage;
  const int64_t elements = problem.shape(node.inputs[0]).elements();
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel), GroupSizes(kItems, DivideUp(elements, kItems)));
  made->AddRows(group, node.inputs[0], storage, launch);
  made->AddRows(group, node.inputs[1], group.value(node.inputs[1]).dtype, launch);
  made->AddRows(group, node.inputs[2], storage, launch);
  launch.Output(0, StorageBytes(storage, 1));
  arguments(launch);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

Result<std::unique_ptr<PreparedKernel>> PrepareElements(const Problem& problem, const Facts& facts,
                                                        const Params&, const Device& device) {
  const ir::Node& node = problem.node();
  const Shape &x = problem.shape(node.inputs[0]), &updates = problem.shape(node.inputs[1]);
  cl_int8 dims, reach, steps{};
  std::fill(std::begin(dims.s), std::end(dims.s), 1);
  std::fill(std::begin(reach.s), std::end(reach.s), 1);
  const Dims strides = RowMajorStrides(updates);
  for (int i = 0; i < x.rank(); ++i) {
    const int at = kMostAxes - x.rank() + i;
    dims.s[at] = static_cast<cl_int>(x[i]);
    reach.s[at] = static_cast<cl_int>(i == facts.axis ? x[i] : updates[i]);
    steps.s[at] = i == facts.axis ? 0 : static_cast<cl_int>(strides[i]);
  }
  return Make(problem, facts, device, "elements", [&](RecordedLaunch& launch) {
    launch.Value(dims).Value(reach).Value(steps);
    launch.Int(x[facts.axis]).Int(x.Count(facts.axis + 1, x.rank()));
    launch.Int(updates.elements() == 0 ? 0 : updates[facts.axis]).Int(strides[facts.axis]);
    launch.Int(x.elements());
  });
}

Result<std::unique_ptr<PreparedKernel>> PrepareTuples(const Problem& problem, const Facts& facts,
                                                      const Params&, const Device& device) {
  const ir::Node& node = problem.node();
  const Shape &x = problem.shape(node.inputs[0]), &indices = problem.shape(node.inputs[1]);
  const auto width = static_cast<int>(facts.width);
  const int64_t inner = x.Count(width, x.rank());
  cl_int8 extents{}, steps{};
  int64_t step = 1;
  for (int i = width; i-- > 0;) {
    extents.s[i] = static_cast<cl_int>(x[i]);
    steps.s[i] = static_cast<cl_int>(step);
    step *= x[i];
  }
  return Make(problem, facts, device, "tuples", [&](RecordedLaunch& launch) {
    launch.Value(extents).Value(steps).Int(width).Int(indices.Count(0, indices.rank() - 1));
    launch.Int(inner).Int(x.elements());
  });
}

constexpr Family<Facts> kElements{
    .read = ReadElements, .states = States, .prepare = PrepareElements, .taste = Always<10>};
constexpr Family<Facts> kTuples{
    .read = ReadTuples, .states = States, .prepare = PrepareTuples, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClScatterElements;
const KernelDesc kOpenClScatterElements = {.name = "opencl.scatter.elements",
                                           .match = MatchAs<kElements>};
extern const KernelDesc kOpenClScatterTuples;
const KernelDesc kOpenClScatterTuples = {.name = "opencl.scatter.tuples",
                                         .match = MatchAs<kTuples>};

}  // namespace fettle::kernels
