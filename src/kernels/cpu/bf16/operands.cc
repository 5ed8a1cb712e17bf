#include "kernels/cpu/bf16/operands.h"

#include <algorithm>

#include "kernels/cpu/bf16/block.h"
#include "kernels/match/product.h"
#include "tensor/dtype.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

Status CheckTail(const ir::Graph& group) {
  for (const ir::Node& node : group.nodes()) {
    if (node.op->Has(ir::Trait::kQuantises)) return Unsupported("results become integers");
  }
  const bool floats = std::all_of(group.outputs.begin(), group.outputs.end(),
                                  [&](ir::ValueId id) { return IsFloat(group.value(id).dtype); });
  return floats ? OkStatus() : Unsupported("results become integers");
}

Result<Bf16Product> ReadRows(const ir::Graph& group) {
  ASSIGN_OR_RETURN(const Product p, ReadRowsByConstant(group));
  Bf16Product product;
  product.operands = {.x = p.a, .w = p.b, .b = p.addend};
  product.g.ic = p.k;
  product.g.oc = p.n;
  product.g.in[2] = product.g.out[2] = p.m;
  product.weights = {.oc = p.n, .ic = p.k, .transposed = !p.trans_b};
  product.alpha = p.alpha;
  product.beta = p.beta;
  return product;
}

Result<Bf16Product> ReadConv(const ir::Graph& group) {
  Bf16Product product{.is_conv = true};
  ASSIGN_OR_RETURN(product.operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  if (g.IsDepthwise()) return Unsupported("depthwise: a channel has no sums to share");
  product.g = AsLines(g);
  product.weights = {
      .groups = g.groups, .oc = g.oc / g.groups, .ic = g.ic / g.groups, .taps = g.taps()};
  return product;
}

/// One panel of weights [groups][oc][ic][taps].
void PackColumns(const Constant& w, const WeightShape& shape, int64_t first_row, int64_t columns,
                 float alpha, uint16_t* out) {
  std::vector<float> row(shape.ic * shape.taps);
  for (int64_t column = 0; column < columns; ++column) {
    ReadFloats(w, (first_row + column) * std::ssize(row), std::ssize(row), row.data());
    for (int64_t t = 0; t < shape.taps; ++t) {
      for (int64_t i = 0; i < shape.ic; ++i) {
        const int64_t k = t * shape.ic + i;
        out[k / 2 * 2 * kBf16Columns + 2 * column + k % 2] =
            BFloat16(alpha * row[i * shape.taps + t]).bits;
      }
    }
  }
}

/// One panel of weights [ic][oc], from column `first` on.
void PackRows(const Constant& w, const WeightShape& shape, int64_t first, int64_t columns,
              float alpha, uint16_t* out) {
  float row[kBf16Columns];
  for (int64_t k = 0; k < shape.ic; ++k) {
    ReadFloats(w, k * shape.oc + first, columns, row);
    for (int64_t column = 0; column < columns; ++column)
      out[k / 2 * 2 * kBf16Columns + 2 * column + k % 2] = BFloat16(alpha * row[column]).bits;
  }
}

void PackPanels(const Constant& w, const WeightShape& shape, float alpha, uint16_t* out) {
  const int64_t elements = Bf16PanelElements(shape);
  for (int64_t g = 0; g < shape.groups; ++g) {
    for (int64_t first = 0; first < shape.oc; first += kBf16Columns, out += elements) {
      const int64_t columns = std::min<int64_t>(kBf16Columns, shape.oc - first);
      std::fill_n(out, elements, uint16_t{0});
      if (shape.transposed) {
        PackRows(w, shape, first, columns, alpha, out);
      } else {
        PackColumns(w, shape, g * shape.oc + first, columns, alpha, out);
      }
    }
  }
}

}  // namespace

Result<ConvPixels> Bf16Product::PixelsIn(const Problem& problem) const {
  if (is_conv) return ReadConvPixels(problem, operands.x);
  return ConvPixels{ChannelsLastPixels(g.ic, g.pixels()), ChannelsLastPixels(g.oc, g.pixels())};
}

Result<Bf16Product> ReadBf16Product(const ir::Graph& group) {
  if (group.nodes().empty()) return Unsupported("an empty group");
  RETURN_IF_ERROR(CheckTail(group));
  ASSIGN_OR_RETURN(Bf16Product product,
                   group.nodes()[0].op == "Conv"_op ? ReadConv(group) : ReadRows(group));
  if (product.g.pixels() == 0 || product.weights.depth() == 0 || product.weights.oc == 0)
    return Unsupported("an empty operand");
  return product;
}

int64_t Bf16PanelElements(const WeightShape& weights) {
  return RoundUp(weights.depth(), kBf16Depth) * kBf16Columns;
}

PackRequest RequestBf16Panels(const Bf16Product& product) {
  const WeightShape& shape = product.weights;
  const int64_t padded = RoundUp(shape.oc, kBf16Columns);
  const int64_t elements = shape.groups * shape.panels(kBf16Columns) * Bf16PanelElements(shape);
  const std::string recipe = fmt::format("bf16.g{}.t{}.a{}.b{}", shape.groups, shape.transposed,
                                         product.alpha, product.beta);
  return RequestWeights(product.operands, recipe, elements / 2 + shape.groups * padded,
                        [=, alpha = product.alpha, beta = product.beta](
                            const Constant& w, const Constant* b, float* out) {
                          PackPanels(w, shape, alpha, reinterpret_cast<uint16_t*>(out));
                          for (int64_t g = 0; g < shape.groups; ++g)
                            PackBias(b, g * shape.oc, shape.oc, padded, beta,
                                     out + elements / 2 + g * padded);
                        });
}

}  // namespace fettle::kernels
