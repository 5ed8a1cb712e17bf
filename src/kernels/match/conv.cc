#include "kernels/match/conv.h"

#include <utility>

#include "ops/conv/op.h"
#include "ops/conv_transpose/op.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// What ConvAttributes and ConvTransposeAttributes have in common, of `g`'s last axes.
template <typename Attributes>
Status FillWindow(const Attributes& conv, const Shape& x, ConvGeometry& g) {
  if (conv.spatial_rank() > 3) return Unsupported("more than three spatial axes");
  // Kernels walk taps of at least one element; what is left of such a convolution is its bias.
  if (x[0] > 0 && x.elements() == 0) return Unsupported("images without elements");
  g.batch = x[0];
  g.ic = x[1];
  g.groups = conv.group;
  const size_t first = 3 - conv.spatial_rank();
  for (size_t i = 0; i < conv.kernel.size(); ++i) {
    g.in[first + i] = x[static_cast<int>(i) + 2];
    g.kernel[first + i] = conv.kernel[i];
    g.stride[first + i] = conv.strides[i];
    g.dilation[first + i] = conv.dilations[i];
    g.pad[first + i] = conv.pad_begin[i];
  }
  return OkStatus();
}

}  // namespace

Result<ConvOperands> ReadConvOperands(const ir::Graph& group, std::string_view op,
                                      bool allow_computed) {
  if (group.nodes().empty()) return Unsupported("computes {} only", op);
  if (const ir::OpRef own = group.nodes()[0].op; own != op)
    return Unsupported("computes {} only; this is a {}", op, own.name());
  const ir::Node& node = group.nodes()[0];
  ConvOperands operands{node.input(0), node.input(1), node.input(2)};
  if (group.value(operands.x).is_constant()) return Unsupported("the input is constant");
  operands.computed = !group.value(operands.w).is_constant();
  if (operands.computed && !allow_computed) return Unsupported("the weights are not constant");
  if (operands.b != ir::kAbsent && group.value(operands.b).is_constant() == operands.computed)
    return Unsupported("weights and bias must both be constant, or both computed");
  if (!IsFloat(group.value(operands.x).dtype)) return Unsupported("not a float type");
  return operands;
}

Result<ConvGeometry> ReadConvGeometry(const ir::Graph& group, const ir::Node& node) {
  const Shape& x = *group.value(node.input(0)).shape;
  const Shape& w = *group.value(node.input(1)).shape;
  const Shape& y = *group.value(node.output(0)).shape;
  ASSIGN_OR_RETURN(const ops::ConvAttributes conv, ops::ReadConv(node, x, w));
  ConvGeometry g;
  RETURN_IF_ERROR(FillWindow(conv, x, g));
  g.oc = w[0];
  g.same = conv.same;
  for (int i = 0; i < conv.spatial_rank(); ++i) g.out[3 - conv.spatial_rank() + i] = y[i + 2];
  return g;
}

Result<ConvGeometry> ReadTransposeGeometry(const ir::Graph& group, const ir::Node& node) {
  const Shape& x = *group.value(node.input(0)).shape;
  const Shape& w = *group.value(node.input(1)).shape;
  ASSIGN_OR_RETURN(const ops::ConvTransposeAttributes conv, ops::ReadConvTranspose(node, x, w));
  ConvGeometry g;
  RETURN_IF_ERROR(FillWindow(conv, x, g));
  g.oc = w[1] * conv.group;
  g.pads_follow =
      node.attributes.Text("auto_pad").starts_with("SAME") || node.attributes.Has("output_shape");
  for (int i = 0; i < conv.spatial_rank(); ++i) g.out[3 - conv.spatial_rank() + i] = conv.output[i];
  return g;
}

bool WritesApart(const ConvGeometry& transposed) {
  const ConvGeometry& g = transposed;
  for (size_t axis = 0; axis < 3; ++axis) {
    const bool is_dilated = g.kernel[axis] > 1 && g.dilation[axis] != 1;
    if (is_dilated || g.pad[axis] != 0 || g.kernel[axis] > g.stride[axis]) return false;
    if (g.out[axis] > g.in[axis] * g.stride[axis]) return false;
  }
  return true;
}

int64_t TransposedRows(const ConvGeometry& transposed) {
  const ConvGeometry& g = transposed;
  return g.oc / g.groups * g.kernel[0] * g.kernel[1] * g.stride[2];
}

ConvGeometry AsLines(ConvGeometry g) {
  if (g.groups == 1 && g.IsPointwise()) {
    g.in = g.out = {1, 1, g.image_pixels()};
  } else if (g.in[2] == 1 && g.out[2] == 1 && g.kernel[2] == 1 && g.pad[2] == 0) {
    for (auto* axes : {&g.in, &g.out, &g.kernel, &g.stride, &g.dilation, &g.pad})
      std::swap((*axes)[1], (*axes)[2]);
  }
  return g;
}

}  // namespace fettle::kernels
