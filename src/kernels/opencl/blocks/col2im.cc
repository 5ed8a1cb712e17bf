// opencl.col2im: columns of blocks summed up into images of up to three axes, row-major buffers.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/resize/op.h"

namespace fettle::kernels {
namespace {

std::vector<int64_t> IntsOf(const Constant& constant) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < constant.elements(); ++i) values.push_back(constant.GetInt(i));
  return values;
}

Result<ops::Col2ImAttributes> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "Col2Im"_op)
    return Unsupported("computes Col2Im only");
  const ir::Value& x = group.value(node.inputs[0]);
  const ir::Value &image = group.value(node.inputs[1]), &block = group.value(node.inputs[2]);
  if (!image.is_constant() || !block.is_constant() || x.is_constant())
    return Unsupported("its extents are not constant");
  if (!IsFloatValue(x.dtype)) return Unsupported("not a float type");
  ASSIGN_OR_RETURN(ops::Col2ImAttributes col,
                   ops::ReadCol2Im(node, IntsOf(*image.constant), IntsOf(*block.constant)));
  if (col.block.size() > 3) return Unsupported("images of {} axes", col.block.size());
  if (x.shape->elements() > std::numeric_limits<cl_int>::max())
    return Unsupported("kernels count elements in 32 bits");
  return col;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const ops::Col2ImAttributes&,
                                            const Device&) {
  return RowAssignments(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem,
                                                const ops::Col2ImAttributes& col, const Params&,
                                                const Device& device) {
  const ir::Node& node = problem.node();
  const Shape& y = problem.shape(node.outputs[0]);
  const DType storage = problem.states.outputs[0].storage;
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("blocks/col2im.cl", AccessOptions(problem.states.outputs[0])), "col2im"));
  // Missing axes lead.
  const auto axes = [](const std::vector<int64_t>& of, int64_t missing) {
    std::vector<int64_t> all(3 - of.size(), missing);
    all.insert(all.end(), of.begin(), of.end());
    return Int4(all[0], all[1], all[2], 0);
  };
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel), PlaceSizes(y.Count(2, y.rank()), y.Count(0, 2)));
  made->AddRows(*problem.group, node.inputs[0], storage, launch);
  launch.Output(0, StorageBytes(storage, 1)).Value(axes(col.image, 1));
  launch.Value(axes(col.positions, 1)).Value(axes(col.block, 1)).Value(axes(col.strides, 1));
  launch.Value(axes(col.dilations, 1)).Value(axes(col.pad_begin, 0));
  if (y.elements() > 0) made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<ops::Col2ImAttributes> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClCol2Im;
const KernelDesc kOpenClCol2Im = {.name = "opencl.col2im", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
