#include "passes/find/summed_product.h"

#include <algorithm>
#include <optional>
#include <string>

#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

/// So many times the elements of both operands have to be multiplied: below
/// that, writing the products down costs little.
constexpr int64_t kLeastGrowth = 8;
constexpr int kMostAxes = 26;  // letters

/// The axes of a product's shape that are summed up; nothing where they are not
/// known.
std::optional<std::vector<bool>> SummedAxes(const Editor& editor, const ir::Node& sum, int rank) {
  std::vector<int64_t> axes = sum.attributes.Ints("axes");
  if (sum.input(1) != ir::kAbsent) {
    const auto given = IntsOf(editor.graph(), sum.input(1));
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (axes.empty()) return std::nullopt;
  std::vector<bool> summed(rank, false);
  for (const int64_t axis : axes) {
    const auto at = NormaliseAxis(axis, rank);
    if (!at) return std::nullopt;
    summed[*at] = true;
  }
  return summed;
}

/// An operand without axes of extent 1, and a letter for each of the others.
struct Labelled {
  Dims dims;
  std::string letters;
};
Labelled LabelsOf(const Shape& shape, int rank) {
  Labelled made;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    made.dims.push_back(shape[i]);
    made.letters += static_cast<char>('a' + rank - shape.rank() + i);
  }
  return made;
}

/// Products of f64 have no fast kernels.
bool HasFastProducts(DType dtype) { return IsFloat(dtype) && dtype != DType::kF64; }

bool IsContraction(const Shape& a, const Shape& b, const Shape& product) {
  if (product.elements() == 0 || product.rank() > kMostAxes) return false;
  return product.elements() / kLeastGrowth >= a.elements() + b.elements();
}

void TrySummedProduct(Editor& editor, ir::NodeId id) {
  const ir::Node sum = editor.node(id);
  const ir::Node* mul = editor.Producer(sum.inputs[0], "Mul"_op);
  if (mul == nullptr || !editor.HasOneUse(sum.inputs[0])) return;
  const ir::ValueId a = mul->inputs[0], b = mul->inputs[1];
  const ir::Value &left = editor.value(a), &right = editor.value(b),
                  &product = editor.value(sum.inputs[0]), &y = editor.value(sum.outputs[0]);
  if (!left.has_concrete_shape() || !right.has_concrete_shape() || !product.has_concrete_shape() ||
      !y.has_concrete_shape() || !HasFastProducts(product.dtype) ||
      !IsContraction(*left.shape, *right.shape, *product.shape))
    return;
  const int rank = product.shape->rank();
  const auto summed = SummedAxes(editor, sum, rank);
  if (!summed) return;
  const Shape joined = *product.shape, result = *y.shape;
  Labelled kept;
  for (int i = 0; i < rank; ++i) {
    if ((*summed)[i] || joined[i] == 1) continue;
    kept.dims.push_back(joined[i]);
    kept.letters += static_cast<char>('a' + i);
  }
  const Labelled of_a = LabelsOf(*left.shape, rank), of_b = LabelsOf(*right.shape, rank);
  TypedNodes nodes(editor, sum, product.dtype);
  const ir::ValueId x0 = nodes.Reshape(a, of_a.dims), x1 = nodes.Reshape(b, of_b.dims);
  const ir::ValueId made =
      nodes.Add("Einsum"_op, {x0, x1}, kept.dims,
                {{"equation", fmt::format("{},{}->{}", of_a.letters, of_b.letters, kept.letters)}});
  editor.Replace(id, "Reshape"_op, {made, nodes.Ints(result.dims())});
}

}  // namespace

Result<bool> FindSummedProducts(ir::Graph& graph) {
  if (!HasOp(graph, {"ReduceSum"_op}) || !HasOp(graph, {"Mul"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "ReduceSum"_op) TrySummedProduct(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
