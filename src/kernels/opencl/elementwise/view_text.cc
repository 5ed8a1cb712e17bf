#include "kernels/opencl/elementwise/view_text.h"

#include <algorithm>
#include <map>

#include "kernels/expr/expr.h"
#include "kernels/match/alone.h"
#include "kernels/move/compose.h"
#include "kernels/move/counted_gather.h"
#include "kernels/move/move_plan.h"
#include "kernels/opencl/elementwise/divisor.h"
#include "kernels/opencl/expression/compile.h"
#include "kernels/opencl/move/join_axes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Of one operator that moves elements.
constexpr size_t kMostBranches = 4;
/// Statements, each of which a compiler takes time for.
constexpr int kMostStatements = 160;
constexpr size_t kMostOperands = 12;

class Writer {
 public:
  explicit Writer(const ir::Graph& group) : group_(group), makers_(group.values().size(), nullptr) {
    for (const ir::Node& node : group.nodes()) makers_[node.outputs[0]] = &node;
  }

  Result<ViewText> Run() {
    ASSIGN_OR_RETURN(made_.result, Emit(group_.outputs[0], "i0"));
    return std::move(made_);
  }

 private:
  /// The variable that holds element `at` of a value.
  Result<std::string> Emit(ir::ValueId id, const std::string& at) {
    const auto key = std::pair(id, at);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    if (++statements_ > kMostStatements) return Unsupported("too many statements to be faster");
    const ir::Node* node = makers_[id];
    std::string name;
    if (node == nullptr) {
      ASSIGN_OR_RETURN(name, Read(id, at));
    } else if (node->op->Has(ir::Trait::kMovesElements)) {
      ASSIGN_OR_RETURN(name, Move(*node, at));
    } else {
      ASSIGN_OR_RETURN(name, Compute(*node, at));
    }
    known_.emplace(key, name);
    return name;
  }

  Result<std::string> Read(ir::ValueId id, const std::string& at) {
    auto known = std::ranges::find(made_.operands, id);
    if (known == made_.operands.end()) {
      if (made_.operands.size() == kMostOperands)
        return Unsupported("too many operands to be faster");
      known = made_.operands.insert(known, id);
    }
    return Declare(fmt::format("READ({}, {})", known - made_.operands.begin(), at));
  }

  static Result<std::vector<Piece>> PiecesOf(const ir::Graph& group, const ir::Node& node) {
    if (node.op == "Gather"_op) {
      ASSIGN_OR_RETURN(Piece piece, CountedGather(group, node));
      return std::vector<Piece>{std::move(piece)};
    }
    const AloneNode alone = Alone(group, node);
    return PlanMoves(MoveContext(alone.graph, RowMajorStates(alone.graph)));
  }

  /// Moves before the operand of `piece` become part of it as far as one copy does them all;
  /// returns the value that it then reads.
  ir::ValueId TakeMovesBefore(ir::ValueId operand, Piece& piece) const {
    while (const ir::Node* node = makers_[operand]) {
      if (!node->op->Has(ir::Trait::kMovesElements)) break;
      const auto earlier = PiecesOf(group_, *node);
      if (!earlier.ok() || earlier->size() != 1 || earlier->front().source == kZeroSource) break;
      std::optional<Piece> both = Compose(earlier->front(), piece);
      if (!both) break;
      piece = *std::move(both);
      operand = node->inputs[piece.source];
    }
    return operand;
  }

  Result<std::string> Move(const ir::Node& node, const std::string& at) {
    ASSIGN_OR_RETURN(std::vector<Piece> pieces, PiecesOf(group_, node));
    if (pieces.size() > kMostBranches)
      return Unsupported("{} has too many parts to be faster", node.op);
    if (pieces.size() == 1 && pieces[0].source != kZeroSource) {
      const ir::ValueId operand = TakeMovesBefore(node.inputs[pieces[0].source], pieces[0]);
      ASSIGN_OR_RETURN(const std::string from, Walk(std::move(pieces[0]), at, nullptr));
      return Emit(operand, from);
    }
    const std::string name = fmt::format("v{}", variables_++);
    made_.body += fmt::format("float4 {} = (float4)(0.0f); ", name);
    for (Piece& piece : pieces) {
      if (piece.source == kZeroSource) continue;
      // What a branch declares is known in it alone.
      const auto outside = known_;
      const int source = piece.source;
      std::string test;
      ASSIGN_OR_RETURN(const std::string from, Walk(std::move(piece), at, &test));
      made_.body += fmt::format("if ({}) {{ ", test);
      ASSIGN_OR_RETURN(const std::string value, Emit(node.inputs[source], from));
      made_.body += fmt::format("{} = {}; }} ", name, value);
      known_ = outside;
    }
    return name;
  }

  Result<std::string> Compute(const ir::Node& node, const std::string& at) {
    const AloneNode alone = Alone(group_, node, true);
    ASSIGN_OR_RETURN(const expr::Expr expr, expr::Lower(alone.graph));
    const Shape& y = *group_.value(node.outputs[0]).shape;
    std::vector<std::string> leaves, values;
    for (const expr::Leaf& leaf : expr.leaves) {
      if (leaf.number) {
        leaves.push_back(Number(*leaf.number));
        continue;
      }
      if (leaf.input < 0) return Unsupported("{} with a constant of its own form", node.op);
      const ir::ValueId id = alone.inputs[leaf.input];
      if (leaf.shape != *group_.value(id).shape)
        return Unsupported("{} reads '{}' in another shape", node.op, group_.value(id).name);
      ASSIGN_OR_RETURN(const std::string from, Walk(Spread(leaf.shape, y), at, nullptr));
      ASSIGN_OR_RETURN(leaves.emplace_back(), Emit(id, from));
    }
    const auto value_of = [&](expr::Ref ref) { return ref < 0 ? leaves[~ref] : values[ref]; };
    for (const expr::Inst& inst : expr.code) {
      std::array<std::string, 3> operands;
      for (int i = 0; i < expr::OperandsOf(inst.fn); ++i) operands[i] = value_of(inst.args[i]);
      values.push_back(Declare(PrintInst(inst, operands)));
      ++statements_;
    }
    return value_of(expr.results[0]);
  }

  /// A tensor that is broadcast to `y`, as a copy.
  static Piece Spread(const Shape& x, const Shape& y) {
    Piece piece;
    const Dims from = RowMajorStrides(x), to = RowMajorStrides(y);
    for (int i = 0; i < y.rank(); ++i) {
      const int own = i - (y.rank() - x.rank());
      piece.axes.push_back({y[i], own < 0 || x[own] == 1 ? 0 : from[own], to[i]});
    }
    return piece;
  }

  /// `a` divided by a number above 1, where `a` is not negative.
  std::string Quotient(const std::string& a, int64_t divisor) {
    const Divisor by = DivisorOf(divisor);
    const std::string factor = Int(static_cast<int32_t>(by.factor));
    return fmt::format("QUOTIENT({}, {}, {})", a, factor, Int(by.shift));
  }

  std::string Int(int64_t value) {
    made_.ints.push_back(static_cast<cl_int>(value));
    return fmt::format("n[{}]", made_.ints.size() - 1);
  }

  /// As what compilers drop stays in the text.
  std::string Number(float value) {
    if (value == 0 || value == 1) return fmt::format("(float4)({})", Literal(value));
    made_.floats.push_back(value);
    return fmt::format("(float4)(f[{}])", made_.floats.size() - 1);
  }

  std::string Declare(const std::string& value) {
    const std::string name = fmt::format("v{}", variables_++);
    made_.body += fmt::format("const float4 {} = {}; ", name, value);
    return name;
  }

  std::string DeclareInt(const std::string& value) {
    const std::string name = fmt::format("i{}", ++indices_);
    made_.body += fmt::format("const int {} = {}; ", name, value);
    return name;
  }

  /// The variable that holds which element of the source a copy puts at `at`. `test`: the condition
  /// that it does; without it, it does for all.
  Result<std::string> Walk(Piece piece, const std::string& at, std::string* test) {
    const std::vector<CopyAxis> axes = JoinAxes(std::move(piece.axes));
    if (!IsNested(axes))
      return Unsupported("elements whose place needs more than one division for each axis");
    if (test == nullptr && piece.dst_offset == 0 && piece.src_offset == 0 && axes.size() == 1 &&
        axes[0].src_stride == 1 && axes[0].dst_stride == 1)
      return at;
    std::string rest = at, from = Int(piece.src_offset), conditions;
    if (test != nullptr) {
      const std::string offset = Int(piece.dst_offset);
      conditions = fmt::format("{} >= {}", at, offset);
      rest = DeclareInt(fmt::format("max({} - {}, 0)", at, offset));
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      const bool is_last = axes[i].dst_stride == 1;
      const std::string step = is_last ? "" : Int(axes[i].dst_stride);
      const std::string index = is_last ? rest : DeclareInt(Quotient(rest, axes[i].dst_stride));
      if (test != nullptr) conditions += fmt::format(" && {} < {}", index, Int(axes[i].extent));
      if (axes[i].src_stride != 0)
        from += fmt::format(" + {} * {}", index, Int(axes[i].src_stride));
      if (!is_last) rest = DeclareInt(fmt::format("{} - {} * {}", rest, index, step));
      if (is_last) rest = "0";
    }
    if (test != nullptr) *test = conditions + fmt::format(" && {} == 0", rest);
    return DeclareInt(from);
  }

  const ir::Graph& group_;
  IdVector<ir::ValueId, const ir::Node*> makers_;
  std::map<std::pair<ir::ValueId, std::string>, std::string> known_;
  int variables_ = 0, indices_ = 0, statements_ = 0;
  ViewText made_;
};

}  // namespace

Result<ViewText> WriteViews(const ir::Graph& group) { return Writer(group).Run(); }

}  // namespace fettle::kernels
