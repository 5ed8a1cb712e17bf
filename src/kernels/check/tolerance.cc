#include "kernels/check/tolerance.h"

#include <algorithm>
#include <cmath>

#include "ops/macs.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

bool HasNode(const ir::Graph& graph, ir::OpRef op) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const ir::Node& node) { return node.op == op; });
}

/// The magnitude of partial sums of so many terms, with which KernelTolerance, which takes 8
/// sqrt(n) u of it, comes to what GroupTolerance promises.
double PartialSums(const SumTerms& terms, int64_t length) {
  const auto n = static_cast<double>(length);
  const double random = terms.magnitude * std::sqrt(std::max(n, 1.0));
  return terms.alternate ? std::max(random, terms.magnitude * n / 8) : random;
}

/// Terms of each sum of a DFT or STFT at most: twice the bins, of which a one-sided one has half.
int64_t TransformLength(const ir::Graph& group, const ir::Node& node) {
  const bool is_stft = node.op == "STFT"_op;
  if (!is_stft && node.op != "DFT"_op) return 1;
  const Shape& y = *group.value(node.output(0)).shape;
  int64_t bins = 1;
  for (int axis = is_stft ? y.rank() - 2 : 0; axis < y.rank() - 1; ++axis)
    bins = std::max(bins, y[axis]);
  return 2 * bins;
}

}  // namespace

int64_t LongestSum(const ir::Graph& group) {
  int64_t length = 1;
  for (const ir::Node& node : group.nodes()) {
    const ir::ValueId id = node.output(0);
    if (id == ir::kAbsent) continue;
    const int64_t elements = std::max<int64_t>(group.value(id).shape->elements(), 1);
    length = std::max(length, ops::MacsOf(group, node) / elements);
    length = std::max(length, TransformLength(group, node));
    // Reductions count no multiply-adds, but sum as many elements as they lose.
    for (ir::ValueId input : node.inputs) {
      if (input != ir::kAbsent)
        length = std::max(length, group.value(input).shape->elements() / elements);
    }
  }
  return length;
}

Tolerance GroupTolerance(const ir::Graph& group, ir::ValueId output, double largest,
                         const SumTerms& terms) {
  const DType dtype = group.value(output).dtype;
  const int64_t length = LongestSum(group);
  const double magnitude = std::max(largest, PartialSums(terms, length));
  Tolerance tolerance = KernelTolerance(dtype, length, IsFloat(dtype) ? magnitude : 0);
  const auto nodes = static_cast<double>(group.nodes().size());
  tolerance.atol *= nodes;
  tolerance.rtol *= nodes;
  // Rows of an LSTM whose weights are bytes may be rounded to 16 bits.
  const bool rounds = std::any_of(group.nodes().begin(), group.nodes().end(), [](const auto& node) {
    return node.op == "LSTM"_op && node.inputs.size() > 8;
  });
  if (rounds) tolerance.atol += 4 * 0x1p-16 * magnitude;
  // The oracle rounds reduced types after every node, a fused kernel once.
  if (nodes > 1 && IsFloat(dtype) && dtype != DType::kF32)
    tolerance.atol += tolerance.rtol * std::max(largest, terms.magnitude);
  const bool quantises =
      HasNode(group, "QuantizeLinear"_op) || HasNode(group, "DynamicQuantizeLinear"_op);
  // A value next to the border of two steps may fall to either side.
  if (quantises && IsInteger(dtype)) tolerance.atol = 1;
  if (quantises && IsFloat(dtype)) tolerance.atol += 0.02 * std::max(largest, terms.magnitude);
  return tolerance;
}

double SumMagnitude(const ir::Graph& group, double largest, const SumTerms& terms) {
  return std::max(largest, PartialSums(terms, LongestSum(group))) *
         static_cast<double>(group.nodes().size());
}

Tolerance WidenedForArithmetic(Tolerance tolerance, Arithmetic arithmetic, double magnitude) {
  tolerance.atol += 4 * RowOf(arithmetic).unit_roundoff * magnitude;
  return tolerance;
}

}  // namespace fettle::kernels
