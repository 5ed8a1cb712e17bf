#include "kernels/opencl/conv/pixel_conv.h"

#include <algorithm>
#include <limits>

#include "ops/conv/op.h"

namespace fettle::kernels {

Status ReadPixelGeometry(const ir::Graph& group, const ir::Node& node, PixelConv& conv) {
  const Shape& x = *group.value(node.input(0)).shape;
  const Shape& w = *group.value(node.input(1)).shape;
  const Shape& y = *group.value(node.output(0)).shape;
  if (!HasPixelRank(x)) return Unsupported("{} axes: expected height and width", x.rank() - 2);
  ASSIGN_OR_RETURN(const ops::ConvAttributes attributes, ops::ReadConv(node, x, w));
  conv.batch = x[0];
  conv.ic = x[1];
  conv.oc = w[0];
  conv.groups = attributes.group;
  conv.in = PlaneOf(x);
  conv.out = PlaneOf(y);
  for (size_t i = 0; i < 2; ++i) {
    conv.kernel[i] = AlongPlane(attributes.kernel, i, 1);
    conv.stride[i] = AlongPlane(attributes.strides, i, 1);
    conv.dilation[i] = AlongPlane(attributes.dilations, i, 1);
    conv.pad[i] = AlongPlane(attributes.pad_begin, i, 0);
  }
  if (conv.ic == 0) return Unsupported("no input channels");
  return CheckCounts(x, w, y);
}

Status CheckCounts(const Shape& x, const Shape& w, const Shape& y) {
  constexpr int64_t kMost = std::numeric_limits<cl_int>::max() - 64;
  // Zero-filled weights are at most 16 times as many.
  if (x.elements() <= kMost && y.elements() <= kMost && w.elements() <= kMost / 16)
    return OkStatus();
  return Unsupported("kernels count elements in 32 bits");
}

Result<PixelConv> ReadPixelOperands(const ir::Graph& group, std::string_view op) {
  if (group.nodes().empty() || group.nodes()[0].op != op) return Unsupported("node 0 is no {}", op);
  const ir::Node& node = group.nodes()[0];
  PixelConv conv{.x = node.input(0), .w = node.input(1), .b = node.input(2), .y = node.output(0)};
  const auto is_constant = [&](ir::ValueId id) { return group.value(id).is_constant(); };
  if (is_constant(conv.x)) return Unsupported("the input is constant");
  if (!is_constant(conv.w) || (conv.b != ir::kAbsent && !is_constant(conv.b)))
    return Unsupported("weights or bias are not constant");
  if (!IsFloatValue(group.value(conv.x).dtype)) return Unsupported("not a float type");
  return conv;
}

Result<PixelConv> ReadPixelConv(const ir::Graph& group) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelOperands(group, "Conv"));
  RETURN_IF_ERROR(ReadPixelGeometry(group, group.nodes()[0], conv));
  return conv;
}

bool BelongsInLocalMemory(const PixelConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const bool is_large_gpu =
      facts.local_memory_is_dedicated && (facts.family == "nvidia" || facts.family == "amd");
  return is_large_gpu && conv.groups == 1 && conv.oc >= 32 && conv.ic >= 16;
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

void AppendGroupTunables(std::vector<Tunable>& tunables) {
  tunables.push_back({"group_x", {64, 1, 8, 16, 32, 128, 256}});
  tunables.push_back({"group_y", {1, 2, 4, 8, 16, 64}});
}

void AppendGroupDefaults(const WorkSizes& usual, Params& params) {
  params["group_x"] = static_cast<int64_t>(usual.lws[0]);
  params["group_y"] = static_cast<int64_t>(usual.lws[1]);
}

Status CheckGroup(const Problem&, const Params& params, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const int64_t x = params.at("group_x"), y = params.at("group_y");
  if (x * y <= facts.max_work_group_size && x <= facts.max_work_item_sizes[0] &&
      y <= facts.max_work_item_sizes[1])
    return OkStatus();
  return Unsupported("a work-group of {}x{}: the device takes {} items", x, y,
                     facts.max_work_group_size);
}

std::array<size_t, 3> GroupOf(const Params& params) {
  return {static_cast<size_t>(params.at("group_x")), static_cast<size_t>(params.at("group_y")), 1};
}

WorkSizes RowTileSizes(const PixelConv& conv, int64_t columns, int64_t blocks,
                       const Params& params) {
  WorkSizes sizes = PlaceSizes(conv.out[0] * DivideUp(conv.out[1], columns), blocks, conv.batch);
  sizes.lws = GroupOf(params);
  return sizes;
}

}  // namespace fettle::kernels
