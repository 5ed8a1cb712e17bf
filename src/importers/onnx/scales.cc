#include "importers/onnx/scales.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/op.h"

namespace fettle::onnx {
namespace {

/// The first scale that is no positive number.
std::optional<double> FirstUnusual(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != "QuantizeLinear"_op && node.op != "DequantizeLinear"_op) return std::nullopt;
  const ir::ValueId id = node.input(1);
  if (id == ir::kAbsent || !graph.value(id).is_constant()) return std::nullopt;
  const Constant& scales = *graph.value(id).constant;
  const int64_t count =
      scales.is_splat() ? std::min<int64_t>(1, scales.elements()) : scales.elements();
  for (int64_t i = 0; i < count; ++i) {
    const double scale = scales.GetDouble(i);
    if (!(scale > 0) || std::isinf(scale)) return scale;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> UnusualScales(const ir::Graph& graph) {
  std::string first;
  int64_t more = 0;
  for (const ir::Node& node : graph.nodes()) {
    const std::optional<double> scale = FirstUnusual(graph, node);
    if (!scale) continue;
    if (first.empty()) {
      first = fmt::format("{}: the scale {:g} is not a positive number, it is computed as written",
                          ir::Describe(node), *scale);
    } else {
      ++more;
    }
  }
  if (first.empty()) return {};
  return {more == 0 ? first : fmt::format("{} ({} more of them)", first, more)};
}

}  // namespace fettle::onnx
