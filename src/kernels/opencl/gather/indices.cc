#include "kernels/opencl/gather/indices.h"

#include <algorithm>
#include <limits>

#include "kernels/opencl/sources.h"

namespace fettle::kernels {

Status CheckGathered(const ir::Graph& group, const ir::Node& node) {
  const ir::Value &x = group.value(node.inputs[0]), &y = group.value(node.outputs[0]);
  if (!IsStored(x.dtype) || RowOf(x.dtype).bits > 64)
    return Unsupported("elements of type {} are not moved", DTypeName(x.dtype));
  if (std::max({x.shape->elements(), y.shape->elements(),
                group.value(node.inputs[1]).shape->elements()}) >
      std::numeric_limits<cl_int>::max())
    return Unsupported("kernels count elements in 32 bits");
  if (x.shape->elements() == 0 && y.shape->elements() > 0)
    return Unsupported("an operand without elements");
  return OkStatus();
}

Status CheckIndices(const ir::Value& indices, std::span<const int64_t> extents) {
  if (!indices.is_constant()) return OkStatus();
  for (int64_t i = 0; i < indices.constant->elements(); ++i) {
    const int64_t index = indices.constant->GetInt(i);
    const int64_t extent = extents[static_cast<size_t>(i) % extents.size()];
    if (index < -extent || index >= extent) return Unsupported("index {} is out of range", index);
  }
  return OkStatus();
}

Result<std::unique_ptr<PreparedKernel>> PrepareGather(
    const Problem& problem, const Device& device, std::string_view path, std::string_view function,
    const WorkSizes& sizes, const std::function<void(RecordedLaunch&)>& arguments, int64_t width) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const DType storage = problem.states.outputs[0].storage;
  const DType index_type = group.value(node.inputs[1]).dtype;
  BuildOptions options;
  const std::string_view element = UnsignedName(StorageBytes(storage, 1));
  options.Add(
      fmt::format("-DELEMENT={} -DINDEX={}", element, index_type == DType::kI32 ? "int" : "long"));
  if (width > 1) options.Add(fmt::format("-DWORD={}{}", element, width));
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram(path, options), std::string(function)));
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel), sizes);
  made->AddRows(group, node.inputs[0], storage, launch);
  made->AddRows(group, node.inputs[1], index_type, launch);
  launch.Output(0, StorageBytes(storage, 1));
  arguments(launch);
  if (problem.shape(node.outputs[0]).elements() > 0) made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace fettle::kernels
