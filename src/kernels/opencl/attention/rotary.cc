// opencl.attention.rotary: RotaryEmbedding of packed rows whose first position is read at launch.
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/attention/op.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

Result<ops::RotaryShape> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "RotaryEmbedding"_op)
    return Unsupported("computes RotaryEmbedding only");
  const auto value = [&](size_t i) -> const ir::Value& { return group.value(node.inputs[i]); };
  if (node.input(3) == ir::kAbsent || *value(3).shape != Shape{1} || value(3).dtype != DType::kI64)
    return Unsupported("positions that do not follow a first one");
  for (size_t i : {0, 1, 2}) {
    if (value(i).dtype != DType::kF32)
      return Unsupported("{} is not computed", DTypeName(value(i).dtype));
    if (value(i).shape->elements() > std::numeric_limits<cl_int>::max())
      return Unsupported("kernels count elements in 32 bits");
  }
  const Shape& x = *value(0).shape;
  if (value(0).is_constant() || x.elements() == 0) return Unsupported("nothing to compute");
  ASSIGN_OR_RETURN(const ops::RotaryShape rotary, ops::ReadRotary(node, x, *value(1).shape));
  if (!rotary.packed) return Unsupported("heads that are an axis");
  if ((*value(1).shape)[0] < x[1]) return Unsupported("caches shorter than the rows");
  return rotary;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const ops::RotaryShape&,
                                            const Device&) {
  return std::vector<StateAssignment>{StatesBeside(group, RowStates()[0])};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem,
                                                const ops::RotaryShape& rotary, const Params&,
                                                const Device& device) {
  const ir::Node& node = problem.node();
  const Shape &x = problem.shape(node.inputs[0]), &cosines = problem.shape(node.inputs[1]);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("attention/rotary.cl", BuildOptions()), "rotary"));
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel),
                        PlaceSizes(DivideUp(rotary.size, 2), rotary.heads, x[0] * x[1]));
  for (size_t i : {0, 1, 2}) made->AddRows(*problem.group, node.inputs[i], DType::kF32, launch);
  made->AddRows(*problem.group, node.inputs[3], DType::kI64, launch);
  const int64_t half = rotary.rotated / 2;
  launch.Output(0, 4)
      .Int(rotary.heads)
      .Int(rotary.size)
      .Int(half)
      .Int(rotary.interleaved ? 1 : half)
      .Int(rotary.interleaved ? 2 : 1)
      .Int(x[1])
      .Int(cosines[0])
      .Int(cosines[1]);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<ops::RotaryShape> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClAttentionRotary;
const KernelDesc kOpenClAttentionRotary = {.name = "opencl.attention.rotary",
                                           .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
