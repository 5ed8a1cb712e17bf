// opencl.scatter.elements and opencl.scatter.tuples: ScatterElements and ScatterND between
// row-major buffers.
#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/family.h"
#include "kernels/fields.h"
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
  // Of y, updates that each may take, and what a tuple names of it.
  int64_t elements = 0, updates = 0, inner = 0;
};

/// Work-items that share the updates of an element.
struct Sharing {
  int64_t parts = 1;
};
constexpr Fields kFields("gather/scatter.cl",
                         Field{"parts", &Sharing::parts, {1, 2, 4, 8, 16, 32}});

Status CheckSharing(const Sharing& sharing) {
  const auto parts = static_cast<uint64_t>(sharing.parts);
  if (parts <= 32 && std::has_single_bit(parts)) return OkStatus();
  return InvalidArgument("parts: expected a power of two up to 32, got {}", sharing.parts);
}

/// Nanoseconds of a GPU's unit until all items are through, `parts` of them for each element: what
/// groups do in turn, and what an item waits for, one update after the other.
double EstimatedNs(const Facts& facts, int64_t parts, int64_t units) {
  // A group looks at a tuple, which all of its items share; an item reads an update, or passes that
  // of a neighbour; or it divides to know its place, and reads indices, several at once.
  constexpr double kGroup = 150, kTuple = 0.3, kRead = 400, kPassed = 10;
  constexpr double kDivisions = 700, kIndex = 100;
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const double updates = number(facts.updates);
  const double groups = number(DivideUp(facts.elements * parts, kItems)) / number(units);
  if (facts.width == 0) return groups * kDivisions + updates * kIndex / number(parts);
  const double own = updates * number(facts.inner) / number(facts.elements);
  const double slices = std::max(1.0, number(kItems) / number(parts * facts.inner));
  return groups * (kGroup + updates * kTuple) + own * (kRead + kPassed * slices) / number(parts);
}

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
  // Kernels look at a few at once.
  if (x.shape->elements() == 0 || most > std::numeric_limits<cl_int>::max() - kItems)
    return Unsupported("no elements, or more than 32 bits count");
  ASSIGN_OR_RETURN(const ops::Reduction reduction, ops::ReadReduction(node));
  RETURN_IF_ERROR(CheckType(x.dtype, reduction));
  return Facts{.reduction = reduction, .elements = x.shape->elements()};
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
  facts.updates = u.elements() == 0 ? 0 : u[facts.axis];
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
  facts.updates = indices.Count(0, indices.rank() - 1);
  facts.inner = x.Count(static_cast<int>(facts.width), x.rank());
  RETURN_IF_ERROR(CheckLooks(x.elements(), facts.updates));
  Dims extents;
  for (int i = 0; i < facts.width; ++i) extents.push_back(x[i]);
  RETURN_IF_ERROR(CheckIndices(group.value(node.inputs[1]), extents));
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return RowAssignments(group);
}

/// What is estimated to be the fastest on a GPU; processors have enough to do.
ParamSpace Space(const Problem&, const Facts& facts, const Device& device) {
  const OpenClFacts& gpu = AsOpenCl(device).facts();
  Sharing best;
  for (const int64_t parts : {2, 4, 8, 16, 32}) {
    if (!gpu.is_cpu && EstimatedNs(facts, parts, gpu.compute_units) <
                           EstimatedNs(facts, best.parts, gpu.compute_units))
      best.parts = parts;
  }
  return {kFields.Tunables(), kFields.Write(best),
          [](const Params& params) { return CheckSharing(kFields.Read(params)); }};
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
                                             const Params& params, const Device& device,
                                             std::string_view function, Arguments&& arguments) {
  const Sharing sharing = kFields.Read(params);
  RETURN_IF_ERROR(CheckSharing(sharing));
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("gather/scatter.cl", OptionsOf(problem, facts)),
                                   std::string(function)));
  const DType storage = problem.states.outputs[0].storage;
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel),
                        GroupSizes(kItems, DivideUp(facts.elements, kItems / sharing.parts)));
  made->AddRows(group, node.inputs[0], storage, launch);
  made->AddRows(group, node.inputs[1], group.value(node.inputs[1]).dtype, launch);
  made->AddRows(group, node.inputs[2], storage, launch);
  launch.Output(0, StorageBytes(storage, 1));
  arguments(launch);
  launch.Int(facts.elements).Int(sharing.parts);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

Result<std::unique_ptr<PreparedKernel>> PrepareElements(const Problem& problem, const Facts& facts,
                                                        const Params& params,
                                                        const Device& device) {
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
  return Make(problem, facts, params, device, "elements", [&](RecordedLaunch& launch) {
    launch.Value(dims).Value(reach).Value(steps);
    launch.Int(x[facts.axis]).Int(x.Count(facts.axis + 1, x.rank()));
    launch.Int(facts.updates).Int(strides[facts.axis]);
  });
}

Result<std::unique_ptr<PreparedKernel>> PrepareTuples(const Problem& problem, const Facts& facts,
                                                      const Params& params, const Device& device) {
  const ir::Node& node = problem.node();
  const Shape& x = problem.shape(node.inputs[0]);
  const auto width = static_cast<int>(facts.width);
  cl_int8 extents{}, steps{};
  int64_t step = 1;
  for (int i = width; i-- > 0;) {
    extents.s[i] = static_cast<cl_int>(x[i]);
    steps.s[i] = static_cast<cl_int>(step);
    step *= x[i];
  }
  return Make(problem, facts, params, device, "tuples", [&](RecordedLaunch& launch) {
    launch.Value(extents).Value(steps).Int(width).Int(facts.updates).Int(facts.inner);
  });
}

constexpr Family<Facts> kElements{.read = ReadElements,
                                  .states = States,
                                  .prepare = PrepareElements,
                                  .params = Space,
                                  .taste = Always<10>};
constexpr Family<Facts> kTuples{.read = ReadTuples,
                                .states = States,
                                .prepare = PrepareTuples,
                                .params = Space,
                                .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClScatterElements;
const KernelDesc kOpenClScatterElements = {.name = "opencl.scatter.elements",
                                           .match = MatchAs<kElements>,
                                           .parameters = ParametersOf<kFields>};
extern const KernelDesc kOpenClScatterTuples;
const KernelDesc kOpenClScatterTuples = {.name = "opencl.scatter.tuples",
                                         .match = MatchAs<kTuples>,
                                         .parameters = ParametersOf<kFields>};

}  // namespace fettle::kernels
