// opencl.select.triangle: Trilu between row-major buffers, whatever the elements are.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct Facts {
  int64_t rows = 0, columns = 0, diagonal = 0;
  bool upper = true;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "Trilu"_op) return Unsupported("computes Trilu only");
  const ir::Value& x = group.value(node.inputs[0]);
  if (x.is_constant() || IsSubByte(x.dtype)) return Unsupported("a constant, or parts of bytes");
  const Shape& shape = *x.shape;
  if (shape.elements() == 0 || shape.elements() > std::numeric_limits<cl_int>::max())
    return Unsupported("no elements, or more than 32 bits count");
  Facts facts{shape[shape.rank() - 2], shape[shape.rank() - 1], 0,
              node.attributes.Int("upper", 1) != 0};
  if (node.input(1) == ir::kAbsent) return facts;
  const ir::Value& k = group.value(node.input(1));
  if (!k.is_constant()) return Unsupported("its diagonal is not constant");
  // Diagonals beyond the matrix are alike.
  facts.diagonal = std::clamp(k.constant->GetInt(0), -facts.rows, facts.columns);
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return RowAssignments(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  const int64_t bytes = StorageBytes(problem.states.inputs[0].storage, 1);
  const int64_t count = problem.group->value(problem.node().inputs[0]).shape->elements();
  BuildOptions options;
  options.Add(fmt::format("-DELEMENT={}", UnsignedName(bytes)));
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("select/triangle.cl", options), "triangle"));
  auto made = std::make_unique<RecordedKernel>();
  made->recorded.emplace_back(std::move(kernel), PlaceSizes(count))
      .Input(0, bytes)
      .Output(0, bytes)
      .Int(count)
      .Int(facts.rows)
      .Int(facts.columns)
      .Int(facts.diagonal)
      .Int(facts.upper ? 1 : 0);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClSelectTriangle;
const KernelDesc kOpenClSelectTriangle = {.name = "opencl.select.triangle",
                                          .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
