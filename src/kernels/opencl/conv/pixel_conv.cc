#include "kernels/opencl/conv/pixel_conv.h"

#include <limits>

namespace fettle::kernels {

namespace {

Result<ConvGeometry> ReadGeometry(const ir::Graph& group, const ir::Node& node) {
  const Shape& x = *group.value(node.input(0)).shape;
  ASSIGN_OR_RETURN(const ConvGeometry geometry, ReadConvGeometry(group, node));
  if (geometry.ic == 0) return Unsupported("no input channels");
  RETURN_IF_ERROR(
      CheckCounts(x, *group.value(node.input(1)).shape, *group.value(node.output(0)).shape));
  return geometry;
}

}  // namespace

Result<ConvGeometry> ReadPixelGeometry(const ir::Graph& group, const ir::Node& node) {
  const Shape& x = *group.value(node.input(0)).shape;
  if (!HasPixelRank(x)) return Unsupported("{} axes: expected height and width", x.rank() - 2);
  return ReadGeometry(group, node);
}

Status CheckCounts(const Shape& x, const Shape& w, const Shape& y) {
  constexpr int64_t kMost = std::numeric_limits<cl_int>::max() - 64;
  // Zero-filled weights are at most 16 times as many.
  if (x.elements() <= kMost && y.elements() <= kMost && w.elements() <= kMost / 16)
    return OkStatus();
  return Unsupported("kernels count elements in 32 bits");
}

Result<PixelConv> ReadPixelOperands(const ir::Graph& group, std::string_view op) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, op));
  if (!IsFloatValue(group.value(operands.x).dtype)) return Unsupported("not a float type");
  const bool is_volume = group.value(operands.x).shape->rank() == 5;
  const ir::ValueId y = group.nodes()[0].output(0);
  return PixelConv{{}, operands.x, operands.w, operands.b, y, is_volume};
}

Result<PixelConv> ReadPixelConv(const ir::Graph& group) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelOperands(group, "Conv"));
  ASSIGN_OR_RETURN(static_cast<ConvGeometry&>(conv), ReadPixelGeometry(group, group.nodes()[0]));
  return conv;
}

Result<PixelConv> ReadVolumeConv(const ir::Graph& group) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelOperands(group, "Conv"));
  if (!HasVolumeRank(*group.value(conv.x).shape)) return Unsupported("more than three axes");
  ASSIGN_OR_RETURN(static_cast<ConvGeometry&>(conv), ReadGeometry(group, group.nodes()[0]));
  return conv;
}

Result<std::vector<StateAssignment>> PixelConvStates(const ir::Graph& group, const PixelConv& conv,
                                                     const Device& device) {
  return PixelCandidates(group, conv.y, device);
}

Result<std::vector<StateAssignment>> HalfConvStates(const ir::Graph& group, const PixelConv& conv,
                                                    const Device& device) {
  return HalfStates(group, PixelCandidates(group, conv.y, device), device);
}

bool BelongsInLocalMemory(const PixelConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const bool is_large_gpu =
      facts.local_memory_is_dedicated && (facts.family == "nvidia" || facts.family == "amd");
  return is_large_gpu && conv.groups == 1 && conv.oc >= 8 && conv.ic >= 8;
}

Result<std::unique_ptr<RecordedKernel>> RecordConv(const Problem& problem, const PixelConv& conv,
                                                   ConvProgram program, const Device& device) {
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordPixels(problem, conv.x, conv.y, program.program, device));
  made->own_packs.push_back(std::move(program.filter));
  made->recorded[0].Int(conv.oc).Packed(0, 0).Int(program.bias);
  return made;
}

Result<std::unique_ptr<RecordedKernel>> RecordConv(const Problem& problem, const PixelConv& conv,
                                                   const FilterForm& form, PixelProgram program,
                                                   const Device& device) {
  const DType storage = problem.states.outputs[0].storage;
  return RecordConv(problem, conv,
                    {std::move(program), RequestFilter(conv.w, conv.b, form, storage), form.bias},
                    device);
}

std::array<size_t, 3> GroupWithin(const OpenClFacts& facts, std::array<size_t, 3> usual) {
  for (size_t axis = 0; axis < 3; ++axis)
    while (usual[axis] > 1 && static_cast<int64_t>(usual[axis]) > facts.max_work_item_sizes[axis])
      usual[axis] /= 2;
  return SmallerGroup(usual, static_cast<size_t>(facts.max_work_group_size));
}

Status CheckGroup(int64_t x, int64_t y, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  if (x >= 1 && x <= facts.max_work_item_sizes[0] && y >= 1 && y <= facts.max_work_item_sizes[1] &&
      x * y <= facts.max_work_group_size)
    return OkStatus();
  return Unsupported("a work-group of {}x{}: the device takes {} items, {}x{} per axis", x, y,
                     facts.max_work_group_size, facts.max_work_item_sizes[0],
                     facts.max_work_item_sizes[1]);
}

WorkSizes RowTileSizes(const PixelConv& conv, int64_t columns, int64_t blocks,
                       const std::array<size_t, 3>& group) {
  WorkSizes sizes = PlaceSizes(conv.out[1] * DivideUp(conv.out[2], columns), blocks, conv.batch);
  sizes.lws = group;
  return sizes;
}

}  // namespace fettle::kernels
