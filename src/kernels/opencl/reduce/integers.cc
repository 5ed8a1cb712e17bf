// opencl.reduce.integers: reductions of integers and bool over axes that are neighbours in
// row-major memory.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/reduce/lines.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

/// Folds as integers.cl counts them.
struct IntegerFold {
  std::string_view op;
  int64_t fold = 0;
};
constexpr IntegerFold kIntegerFolds[] = {
    // keep-sorted start
    {"ReduceL1", 1},   {"ReduceMax", 4}, {"ReduceMean", 0},      {"ReduceMin", 5},
    {"ReduceProd", 3}, {"ReduceSum", 0}, {"ReduceSumSquare", 2},
    // keep-sorted end
};

struct Facts {
  RowExtents extents;
  int64_t fold = 0;
  bool is_mean = false;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  const auto* const row = std::ranges::find_if(
      kIntegerFolds, [&](const IntegerFold& candidate) { return candidate.op == node.op; });
  if (group.nodes().size() != 1 || row == std::end(kIntegerFolds))
    return Unsupported("computes reductions only");
  const ir::Value& x = group.value(node.inputs[0]);
  // 64 unsigned bits do not fit in integers.cl's values.
  if (IsFloatValue(x.dtype) || ElementTypeName(x.dtype).empty() || x.dtype == DType::kU64)
    return Unsupported("{} is not reduced here", DTypeName(x.dtype));
  const int64_t elements = x.shape->elements();
  if (x.is_constant() || elements == 0 || elements > std::numeric_limits<cl_int>::max())
    return Unsupported("a constant, no elements, or more than 32 bits count");
  ASSIGN_OR_RETURN(const ops::AxisMask mask, ReducedAxes(group));
  ASSIGN_OR_RETURN(const RowExtents extents, SplitRows(*x.shape, Layout::RowMajor(), mask));
  return Facts{extents, row->fold, node.op == "ReduceMean"_op};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return RowAssignments(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  const DType type = problem.states.inputs[0].storage;
  return PrepareLines(problem, device, facts.extents,
                      {.path = "reduce/integers.cl",
                       .function = "integers",
                       .integer = ElementTypeName(type),
                       .output = type,
                       .rule = facts.is_mean ? 1 : 0},
                      BuildOptions().Define("FOLD", facts.fold));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClReduceIntegers;
const KernelDesc kOpenClReduceIntegers = {.name = "opencl.reduce.integers",
                                          .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
