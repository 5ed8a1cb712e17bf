// opencl.reduce.arg: ArgMax and ArgMin over one axis of row-major buffers.
#include <limits>

#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// From so many elements on a row has a work-group.
constexpr int64_t kLongRow = 128;

/// OpenCL C's name of an integer type; nothing of others.
std::string_view IntegerName(DType type) {
  switch (type) {
    case DType::kI8: return "char";
    case DType::kU8: return "uchar";
    case DType::kI32: return "int";
    case DType::kI64: return "long";
    default: return {};
  }
}

struct Facts {
  RowExtents extents;
  int rule = 0;  // of arg.cl
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || (node.op != "ArgMax"_op && node.op != "ArgMin"_op))
    return Unsupported("computes ArgMax and ArgMin only");
  const ir::Value& x = group.value(node.inputs[0]);
  if (x.is_constant() || (!IsFloatValue(x.dtype) && IntegerName(x.dtype).empty()))
    return Unsupported("{} is not compared here", DTypeName(x.dtype));
  const auto axis = NormaliseAxis(node.attributes.Int("axis", 0), x.shape->rank());
  if (!axis || x.shape->elements() == 0 || x.shape->elements() > std::numeric_limits<cl_int>::max())
    return Unsupported("no elements, or more than 32 bits count");
  return Facts{
      {x.shape->Count(0, *axis), (*x.shape)[*axis], x.shape->Count(*axis + 1, x.shape->rank())},
      (node.op == "ArgMax"_op ? 1 : 0) +
          (node.attributes.Int("select_last_index", 0) != 0 ? 2 : 0)};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  std::vector<StateAssignment> states = RowAssignments(group);
  if (!IsFloatValue(group.value(group.inputs[0]).dtype)) states.resize(1);
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  const auto [outer, row, inner] = facts.extents;
  const State& state = problem.states.inputs[0];
  const std::string_view integer =
      IntegerName(problem.group->value(problem.group->inputs[0]).dtype);
  const int64_t items = row >= kLongRow ? kGroupItems : 1;
  BuildOptions options;
  if (integer.empty()) {
    options = AccessOptions(state);
  } else {
    options.Add(fmt::format("-DELEMENT={}", integer));
  }
  options.Define("ITEMS", items);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram("reduce/arg.cl", options), "arg"));
  const int64_t count = outer * inner;
  auto made = std::make_unique<RecordedKernel>();
  made->recorded
      .emplace_back(std::move(kernel), items > 1 ? GroupSizes(items, count) : PlaceSizes(count))
      .Input(0, StorageBytes(state.storage, 1))
      .Output(0, StorageBytes(DType::kI64, 1))
      .Int(count)
      .Int(row)
      .Int(inner)
      .Int(facts.rule);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClReduceArg;
const KernelDesc kOpenClReduceArg = {.name = "opencl.reduce.arg", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
