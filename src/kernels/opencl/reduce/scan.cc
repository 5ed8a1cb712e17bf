// opencl.reduce.scan: CumSum and CumProd along one axis of row-major buffers.
#include "kernels/family.h"
#include "kernels/opencl/reduce/lines.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

/// Unsigned integers as wide as those that are summed up: sums wrap. Empty: none are.
std::string_view SumType(DType type) {
  return type == DType::kI32 || type == DType::kI64 ? UnsignedName(RowOf(type).bits / 8) : "";
}

struct Facts {
  RowExtents extents;
  bool product = false;
  int rule = 0;  // of scan.cl
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || (node.op != "CumSum"_op && node.op != "CumProd"_op))
    return Unsupported("computes CumSum and CumProd only");
  const ir::Value &x = group.value(node.inputs[0]), &along = group.value(node.inputs[1]);
  if (!IsFloatValue(x.dtype) && SumType(x.dtype).empty())
    return Unsupported("{} is not summed up here", DTypeName(x.dtype));
  if (!along.is_constant()) return Unsupported("its axis is not constant");
  ASSIGN_OR_RETURN(const RowExtents extents,
                   ReadLines(x, NormaliseAxis(along.constant->GetInt(0), x.shape->rank())));
  return Facts{extents, node.op == "CumProd"_op,
               (node.attributes.Int("exclusive", 0) != 0 ? 1 : 0) +
                   (node.attributes.Int("reverse", 0) != 0 ? 2 : 0)};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return RowAssignments(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  return PrepareLines(problem, device, facts.extents,
                      {.path = "reduce/scan.cl",
                       .function = "scan",
                       .integer = SumType(problem.group->value(problem.group->inputs[0]).dtype),
                       .output = problem.states.outputs[0].storage,
                       .rule = facts.rule},
                      BuildOptions().Define("PRODUCT", facts.product ? 1 : 0));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClReduceScan;
const KernelDesc kOpenClReduceScan = {.name = "opencl.reduce.scan", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
