// opencl.reduce.arg: ArgMax and ArgMin over one axis of row-major buffers.
#include "kernels/family.h"
#include "kernels/opencl/reduce/lines.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

/// Integers that are compared; 64 unsigned bits do not fit in arg.cl's values.
bool IsCompared(DType type) {
  return !ElementTypeName(type).empty() && type != DType::kBool && type != DType::kU64;
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
  if (!IsCompared(x.dtype)) return Unsupported("{} is not compared here", DTypeName(x.dtype));
  ASSIGN_OR_RETURN(const RowExtents extents,
                   ReadLines(x, NormaliseAxis(node.attributes.Int("axis", 0), x.shape->rank())));
  return Facts{extents, (node.op == "ArgMax"_op ? 1 : 0) +
                            (node.attributes.Int("select_last_index", 0) != 0 ? 2 : 0)};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return RowAssignments(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  const DType type = problem.group->value(problem.group->inputs[0]).dtype;
  return PrepareLines(problem, device, facts.extents,
                      {.path = "reduce/arg.cl",
                       .function = "arg",
                       .integer = IsFloatValue(type) ? "" : ElementTypeName(type),
                       .output = DType::kI64,
                       .rule = facts.rule});
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClReduceArg;
const KernelDesc kOpenClReduceArg = {.name = "opencl.reduce.arg", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
