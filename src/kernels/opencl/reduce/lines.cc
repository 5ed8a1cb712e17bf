#include "kernels/opencl/reduce/lines.h"

#include <limits>

#include "kernels/opencl/work_sizes.h"
#include "ops/reduce/op.h"

namespace fettle::kernels {
namespace {

/// From so many elements on a row has a work-group.
constexpr int64_t kLongRow = 128;

}  // namespace

Result<RowExtents> ReadLines(const ir::Value& x, std::optional<int> axis) {
  const Shape& shape = *x.shape;
  if (x.is_constant()) return Unsupported("its operand is constant");
  if (!axis || shape.elements() == 0 || shape.elements() > std::numeric_limits<cl_int>::max())
    return Unsupported("no elements, or more than 32 bits count");
  return RowExtents{shape.Count(0, *axis), shape[*axis], shape.Count(*axis + 1, shape.rank())};
}

Result<ops::AxisMask> ReducedAxes(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  std::vector<int64_t> axes;
  if (node.input(1) != ir::kAbsent) {
    const auto& constant = group.value(node.input(1)).constant;
    if (constant == nullptr) return Unsupported("the axes are not constant");
    for (int64_t i = 0; i < constant->elements(); ++i) axes.push_back(constant->GetInt(i));
  }
  return ops::ReduceAxes(node, group.value(node.inputs[0]).shape->rank(), axes);
}

Result<std::unique_ptr<PreparedKernel>> PrepareLines(const Problem& problem, const Device& device,
                                                     const RowExtents& extents,
                                                     const LineLaunch& launch,
                                                     BuildOptions options) {
  const auto [outer, row, inner] = extents;
  const State& state = problem.states.inputs[0];
  const int64_t items = row >= kLongRow ? kGroupItems : 1;
  options.Add(launch.integer.empty() ? AccessOptions(state).text()
                                     : fmt::format("-DELEMENT={}", launch.integer));
  options.Define("ITEMS", items);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram(launch.path, options),
                                                std::string(launch.function)));
  const int64_t count = outer * inner;
  auto made = std::make_unique<RecordedKernel>();
  made->recorded
      .emplace_back(std::move(kernel), items > 1 ? GroupSizes(items, count) : PlaceSizes(count))
      .Input(0, StorageBytes(state.storage, 1))
      .Output(0, StorageBytes(launch.output, 1))
      .Int(count)
      .Int(row)
      .Int(inner)
      .Int(launch.rule);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace fettle::kernels
