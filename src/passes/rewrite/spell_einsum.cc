#include "passes/rewrite/spell_einsum.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/matmul/op.h"
#include "passes/edit/typed_nodes.h"
#include "passes/rewrite/contraction.h"

namespace fettle::passes {
namespace {

/// Batches of dot products from which a product and a sum are cheaper than as many matrix products
/// of one element.
constexpr double kManyDotProducts = 8;

/// A value whose axes are loops, each of an extent above 1.
struct Term {
  ir::ValueId value;
  Loops loops;
  bool is_constant = false;  // computed of constants alone
};

class EinsumSpeller {
 public:
  EinsumSpeller(Editor& editor, ir::NodeId id, const ops::Einsum& einsum)
      : nodes_(editor, editor.node(id), editor.value(editor.node(id).inputs[0]).dtype),
        id_(id),
        einsum_(einsum) {}

  void Spell() {
    for (size_t i = 0; i < nodes_.like().inputs.size(); ++i) terms_.push_back(Operand(i));
    for (Term& term : terms_) term = SummedAlone(term);
    while (terms_.size() > 1) {
      const auto [first, second] = CheapestPair();
      const Term a = terms_[first], b = terms_[second];
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(second));
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(first));
      terms_.push_back(Product(a, b));
    }
    Loops ascending = terms_.front().loops;
    std::sort(ascending.begin(), ascending.end());
    const ir::ValueId y = Reshaped(Ordered(terms_.front(), ascending), einsum_.Output().dims());
    nodes_.editor().Replace(id_, "Identity"_op, {y});
  }

 private:
  Dims Extents(const Loops& loops) const {
    Dims dims;
    for (int loop : loops) dims.push_back(einsum_.extents[loop]);
    return dims;
  }

  ir::ValueId Reshaped(ir::ValueId x, const Dims& dims) {
    return nodes_.ShapeOf(x).dims() == dims ? x : nodes_.Reshape(x, dims);
  }

  /// The value of `term` with its loops in another order.
  ir::ValueId Ordered(const Term& term, const Loops& order) {
    if (term.loops == order) return term.value;
    std::vector<int64_t> perm;
    for (int loop : order)
      perm.push_back(std::find(term.loops.begin(), term.loops.end(), loop) - term.loops.begin());
    return nodes_.Transpose(term.value, Extents(order), perm);
  }

  /// Operand `i` without its axes of extent 1, and with one axis for each label.
  Term Operand(size_t i) {
    ir::ValueId x = nodes_.like().inputs[i];
    const Dims dims = nodes_.ShapeOf(x).dims();
    Term term{x, {}, nodes_.editor().value(x).is_constant()};
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis] != 1) term.loops.push_back(einsum_.operand_axes[i][axis]);
    }
    term.value = Reshaped(x, Extents(term.loops));
    while (const std::optional<size_t> axis = Repeated(term.loops)) term = Diagonal(term, *axis);
    return term;
  }

  /// The first axis whose label stands once more behind it.
  static std::optional<size_t> Repeated(const Loops& loops) {
    for (size_t axis = 0; axis < loops.size(); ++axis) {
      if (std::count(loops.begin(), loops.end(), loops[axis]) > 1) return axis;
    }
    return std::nullopt;
  }

  /// The first two axes of one label as one, behind all others: every (n + 1)-th element of both.
  Term Diagonal(const Term& term, size_t first) {
    const int loop = term.loops[first];
    const auto second =
        static_cast<size_t>(std::find(term.loops.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                                      term.loops.end(), loop) -
                            term.loops.begin());
    Loops rest;
    std::vector<int64_t> perm;
    for (size_t axis = 0; axis < term.loops.size(); ++axis) {
      if (axis == first || axis == second) continue;
      rest.push_back(term.loops[axis]);
      perm.push_back(static_cast<int64_t>(axis));
    }
    perm.push_back(static_cast<int64_t>(first));
    perm.push_back(static_cast<int64_t>(second));
    const int64_t extent = einsum_.extents[loop];
    Dims dims = Extents(rest), flat = dims, taken = dims;
    dims.insert(dims.end(), {extent, extent});
    flat.push_back(extent * extent);
    taken.push_back(extent);
    const ir::ValueId matrices = nodes_.Reshape(nodes_.Transpose(term.value, dims, perm), flat);
    rest.push_back(loop);
    return {nodes_.Add("Slice"_op,
                       {matrices, nodes_.Ints({0}), nodes_.Ints({extent * extent}),
                        nodes_.Ints({-1}), nodes_.Ints({extent + 1})},
                       taken),
            rest, term.is_constant};
  }

  bool IsNeeded(int loop) const {
    return loop < einsum_.output_rank ||
           std::any_of(terms_.begin(), terms_.end(),
                       [&](const Term& term) { return Has(term.loops, loop); });
  }

  /// `x` summed over its axes from `kept` on.
  ir::ValueId LastSummed(ir::ValueId x, const Loops& kept, size_t rank) {
    std::vector<int64_t> axes;
    for (size_t axis = kept.size(); axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
    return nodes_.Add("ReduceSum"_op, {x, nodes_.Ints(axes)}, Extents(kept),
                      {{"keepdims", int64_t{0}}});
  }

  /// A term of the operands without the labels that no other term and no output has.
  Term SummedAlone(const Term& term) {
    Loops kept, order;
    for (int loop : term.loops) {
      const auto uses = std::count_if(terms_.begin(), terms_.end(),
                                      [&](const Term& other) { return Has(other.loops, loop); });
      (loop < einsum_.output_rank || uses > 1 ? kept : order).push_back(loop);
    }
    if (order.empty()) return term;
    order.insert(order.begin(), kept.begin(), kept.end());
    return {LastSummed(Ordered(term, order), kept, order.size()), kept, term.is_constant};
  }

  Loops Union(const Loops& a, const Loops& b) const {
    Loops all = a;
    std::copy_if(b.begin(), b.end(), std::back_inserter(all),
                 [&](int loop) { return !Has(a, loop); });
    return all;
  }

  /// The two terms whose product takes the fewest multiply-adds.
  std::pair<size_t, size_t> CheapestPair() const {
    std::pair<size_t, size_t> best{0, 1};
    double least = -1;
    for (size_t i = 0; i < terms_.size(); ++i) {
      for (size_t j = i + 1; j < terms_.size(); ++j) {
        const double steps = Elements(Union(terms_[i].loops, terms_[j].loops), einsum_.extents);
        if (least >= 0 && steps >= least) continue;
        least = steps;
        best = {i, j};
      }
    }
    return best;
  }

  /// Two terms that have left `terms_`, as one.
  Term Product(const Term& first, const Term& second) {
    const Contraction c = PlanContraction(
        {first.loops, first.is_constant}, {second.loops, second.is_constant}, einsum_.extents,
        [&](int loop) { return IsNeeded(loop); }, terms_.empty());
    const bool is_dot = c.rows.empty() && c.columns.empty();
    if (c.summed.empty() || (is_dot && Elements(c.batch, einsum_.extents) >= kManyDotProducts))
      return Elementwise(first, second, c.summed);
    const auto merged = [&](const Loops& loops) {
      return static_cast<int64_t>(Elements(loops, einsum_.extents));
    };
    const Term& a = c.swapped ? second : first;
    const Term& b = c.swapped ? first : second;
    const int64_t m = merged(c.rows), n = merged(c.columns), k = merged(c.summed);
    Dims batch;
    if (!c.batch.empty()) batch.push_back(merged(c.batch));
    const auto matrices = [&](int64_t rows, int64_t columns) {
      Dims dims = batch;
      dims.insert(dims.end(), {rows, columns});
      return dims;
    };
    const ir::ValueId product = nodes_.Add(
        "MatMul"_op,
        {Reshaped(Ordered(a, c.a()), matrices(m, k)), Reshaped(Ordered(b, c.b()), matrices(k, n))},
        matrices(m, n));
    return {Reshaped(product, Extents(c.result())), c.result(), a.is_constant && b.is_constant};
  }

  /// The product element by element, over all loops of both, then summed over `summed`.
  Term Elementwise(const Term& first, const Term& second, const Loops& summed) {
    Loops kept;
    for (int loop : Union(first.loops, second.loops)) {
      if (!Has(summed, loop)) kept.push_back(loop);
    }
    std::sort(kept.begin(), kept.end());
    Loops all = kept;
    all.insert(all.end(), summed.begin(), summed.end());
    const auto spread = [&](const Term& term) {
      Loops own;
      Dims dims;
      for (int loop : all) {
        if (Has(term.loops, loop)) own.push_back(loop);
        dims.push_back(Has(term.loops, loop) ? einsum_.extents[loop] : 1);
      }
      return Reshaped(Ordered(term, own), dims);
    };
    const ir::ValueId product = nodes_.Add("Mul"_op, {spread(first), spread(second)}, Extents(all));
    const bool is_constant = first.is_constant && second.is_constant;
    if (summed.empty()) return {product, kept, is_constant};
    return {LastSummed(product, kept, all.size()), kept, is_constant};
  }

  TypedNodes nodes_;
  ir::NodeId id_;
  const ops::Einsum& einsum_;
  std::vector<Term> terms_;
};

/// The equation of a node that can be spelled; nothing otherwise.
std::optional<ops::Einsum> Equation(const Editor& editor, const ir::Node& node) {
  if (node.inputs.empty()) return std::nullopt;
  std::vector<Shape> shapes;
  for (const ir::ValueId input : node.inputs) {
    const ir::Value& value = editor.value(input);
    if (!value.has_concrete_shape() || value.shape->elements() == 0) return std::nullopt;
    if (value.dtype != editor.value(node.inputs[0]).dtype) return std::nullopt;
    shapes.push_back(*value.shape);
  }
  Result<ops::Einsum> einsum = ops::ReadEinsum(node.attributes.Text("equation"), shapes);
  return einsum.ok() ? std::optional(std::move(*einsum)) : std::nullopt;
}

}  // namespace

Result<bool> SpellEinsum(ir::Graph& graph) {
  if (!HasOp(graph, {"Einsum"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead || editor.node(id).op != "Einsum"_op) continue;
    const std::optional<ops::Einsum> einsum = Equation(editor, editor.node(id));
    if (einsum) EinsumSpeller(editor, id, *einsum).Spell();
  }
  return editor.Finish();
}

}  // namespace fettle::passes
