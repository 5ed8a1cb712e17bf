// opencl.elementwise.views: element-wise operators among operators that move elements, in one
// launch: each element of the result from those that it is made of.
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/elementwise/view_text.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/tables.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

Result<ViewText> Read(const ir::Graph& group, const Device&) {
  if (group.outputs.size() != 1 || group.nodes().size() < 2)
    return Unsupported("computes several operators with one result only");
  if (!IsFloatValue(group.value(group.outputs[0]).dtype)) return Unsupported("not a float type");
  for (const ir::Value& value : group.values()) {
    if (!value.has_concrete_shape() || value.shape->elements() == 0 ||
        value.shape->elements() > std::numeric_limits<cl_int>::max())
      return Unsupported("a value without elements, or of too many");
  }
  for (const ir::Node& node : group.nodes()) {
    if (node.outputs.size() != 1) return Unsupported("{} has several outputs", node.op);
  }
  ASSIGN_OR_RETURN(ViewText text, WriteViews(group));
  for (ir::ValueId id : text.operands) {
    if (ElementTypeName(group.value(id).dtype).empty())
      return Unsupported("{} is not read by expressions", DTypeName(group.value(id).dtype));
  }
  return text;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const ViewText&,
                                            const Device&) {
  return RowAssignments(group);
}

/// The operands as parameters, and how each is read.
std::string ParamsText(const ir::Graph& group, const ViewText& text) {
  std::string params = "#define VIEW_PARAMS ", reads;
  for (size_t k = 0; k < text.operands.size(); ++k) {
    const ir::Value& value = group.value(text.operands[k]);
    const bool stored = IsFloatValue(value.dtype) && !value.is_constant();
    const std::string_view type = value.is_constant() ? "float" : ElementTypeName(value.dtype);
    params += fmt::format(", __global const {0}* restrict x{1}, const int x{1}_offset", type, k);
    reads += stored
                 ? fmt::format("#define READ_{0}(i) (float4)(LOAD(x{0}, x{0}_offset + (i)))\n", k)
                 : fmt::format("#define READ_{0}(i) (float4)((float)x{0}[x{0}_offset + (i)])\n", k);
  }
  return params + "\n" + reads + "#define READ(k, i) READ_##k(i)\n";
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const ViewText& text,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const State& state = problem.states.outputs[0];
  const int64_t elements = problem.shape(group.outputs[0]).elements();
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("elementwise/views.cl", AccessOptions(state),
                      ParamsText(group, text) + fmt::format("#define VIEW_BODY {}const float4 "
                                                            "result = {};\n",
                                                            text.body, text.result)),
          "views"));
  auto made = std::make_unique<RecordedKernel>();
  made->own_packs.push_back(TablePack("views", text.ints));
  made->own_packs.push_back(TablePack("views", text.floats));
  RecordedLaunch launch(std::move(kernel), PlaceSizes(elements));
  launch.Output(0, StorageBytes(state.storage, 1)).Int(elements).Packed(0, 0).Packed(1, 0);
  for (ir::ValueId id : text.operands) {
    const bool bound = !group.value(id).is_constant();
    made->AddRows(group, id,
                  bound ? problem.states.inputs[InputIndex(group, id)].storage : DType::kF32,
                  launch);
  }
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<ViewText> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<9>};

}  // namespace

extern const KernelDesc kOpenClElementwiseViews;
const KernelDesc kOpenClElementwiseViews = {.name = "opencl.elementwise.views",
                                            .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
