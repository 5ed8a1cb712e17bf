#include "kernels/opencl/conv/product_chain.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

/// The number that bounds a Clip; `missing` where it has none.
Result<float> BoundOf(const ir::Graph& group, ir::ValueId id, float missing) {
  if (id == ir::kAbsent) return missing;
  const ir::Value& value = group.value(id);
  if (!value.is_constant() || value.constant->elements() != 1)
    return Unsupported("a bound between the convolutions is computed");
  return static_cast<float>(value.constant->GetDouble(0));
}

}  // namespace

Status Clamp(const ir::Graph& group, const ir::Node& node, Bounds& bounds) {
  float low = 0, high = std::numeric_limits<float>::infinity();
  if (node.op == "Clip"_op) {
    ASSIGN_OR_RETURN(low, BoundOf(group, node.input(1), -high));
    ASSIGN_OR_RETURN(high, BoundOf(group, node.input(2), high));
  } else if (node.op != "Relu"_op) {
    return Unsupported("{} between the convolutions", node.op);
  }
  bounds.low = std::min(std::max(bounds.low, low), high);
  bounds.high = std::min(std::max(bounds.high, low), high);
  return OkStatus();
}

Result<PixelConv> ReadProduct(const ir::Graph& group, const ir::Node& node) {
  ASSIGN_OR_RETURN(const ConvGeometry geometry, ReadPixelGeometry(group, node));
  PixelConv product{geometry, node.input(0), node.input(1), node.input(2), node.output(0)};
  const auto is_constant = [&](ir::ValueId id) {
    return id == ir::kAbsent || group.value(id).is_constant();
  };
  if (!is_constant(product.w) || !is_constant(product.b))
    return Unsupported("the weights of the product are not constant");
  if (!product.IsPixelProduct()) return Unsupported("not a 1x1 convolution of every pixel");
  return product;
}

FilterForm ProductForm(const PixelConv& product, int64_t oc) {
  const int64_t ic = DivideUp(product.ic, 4) * 4;
  return {.recipe = fmt::format("opencl.conv.product.{}x{}", ic, oc),
          .bias = oc,
          .elements = ic * oc,
          .dims = {product.oc, product.ic},
          .axes = {{ic, 1}, {oc, 0}}};
}

bool HostLagsBehind(const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  return facts.local_memory_is_dedicated && (facts.family == "nvidia" || facts.family == "amd");
}

}  // namespace fettle::kernels
