#include "ops/elementwise/op.h"

#include <deque>
#include <string>
#include <vector>

#include "ops/elementwise/onnx.h"

namespace fettle::ops {

Status UnaryReference(const RefContext& context, const Region& region);
Status FoldReference(const RefContext& context, const Region& region);
Status ClipReference(const RefContext& context, const Region& region);
Status WhereReference(const RefContext& context, const Region& region);
Status PowReference(const RefContext& context, const Region& region);
Status BitCastReference(const RefContext& context, const Region& region);
Status CastReference(const RefContext& context, const Region& region);

namespace {

double ReadAttribute(const ir::Attributes& attributes, const ElementwiseAttribute& row) {
  if (row.name.empty()) return 0;
  if (!row.text.empty()) return attributes.Text(row.name) == row.text ? 1 : row.fallback;
  const double as_int =
      static_cast<double>(attributes.Int(row.name, static_cast<int64_t>(row.fallback)));
  const ir::Attribute* value = attributes.Find(row.name);
  return value != nullptr && std::holds_alternative<int64_t>(*value)
             ? as_int
             : attributes.Float(row.name, row.fallback);
}

Status InferUnary(InferContext& context) {
  const UnaryRow& row = *FindUnary(context.node().op);
  RETURN_IF_ERROR(CheckType(context, 0, row.types));
  context.SetOutput(0, row.to_bool ? DType::kBool : context.dtype(0), context.shape(0));
  return OkStatus();
}

Status InferFold(InferContext& context) {
  const FoldRow& row = *FindFold(context.node().op);
  RETURN_IF_ERROR(CheckTypes(context, 0, context.num_inputs(), row.types));
  ASSIGN_OR_RETURN(Shape shape, BroadcastInputs(context, 0, context.num_inputs()));
  context.SetOutput(0, row.to_bool ? DType::kBool : context.dtype(0), std::move(shape));
  return OkStatus();
}

Status InferPRelu(InferContext& context) {
  RETURN_IF_ERROR(InferFold(context));
  if (context.output(0).shape != context.shape(0)) {
    return InvalidModel("slope {} does not broadcast to the input {}", context.shape(1).ToString(),
                        context.shape(0).ToString());
  }
  return OkStatus();
}

Status InferPow(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kNumericTypes));
  RETURN_IF_ERROR(CheckType(context, 1, kNumericTypes));
  ASSIGN_OR_RETURN(Shape shape, BroadcastInputs(context, 0, 2));
  context.SetOutput(0, context.dtype(0), std::move(shape));
  return OkStatus();
}

Status InferClip(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kNumericTypes));
  const DType dtype = context.dtype(0);
  const TypeSet bounds = TypeBit(dtype) | (IsFloat(dtype) ? TypeBit(DType::kF32) : 0);
  for (int i = 1; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    RETURN_IF_ERROR(CheckType(context, i, bounds));
    if (context.shape(i).elements() != 1)
      return InvalidModel("bounds must be scalars, got {}", context.shape(i).ToString());
  }
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return OkStatus();
}

Status InferWhere(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kBoolType));
  RETURN_IF_ERROR(CheckTypes(context, 1, 3, kAllTypes));
  ASSIGN_OR_RETURN(Shape shape, BroadcastInputs(context, 0, 3));
  context.SetOutput(0, context.dtype(1), std::move(shape));
  return OkStatus();
}

Status InferCast(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kAllTypes));
  RETURN_IF_ERROR(CheckType(context, 1, kAllTypes));
  const DType like = context.has_input(1) ? context.dtype(1) : DType::kUndefined;
  ASSIGN_OR_RETURN(const CastRule rule, ReadCast(context.node(), like));
  context.SetOutput(0, rule.to, context.shape(0));
  return OkStatus();
}

Status InferBitCast(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kAllTypes));
  ASSIGN_OR_RETURN(const CastRule rule, ReadCast(context.node(), DType::kUndefined));
  const DTypeRow &from = RowOf(context.dtype(0)), &to = RowOf(rule.to);
  if (from.bits != to.bits)
    return InvalidModel("{} has {} bits, {} has {}", from.name, from.bits, to.name, to.bits);
  context.SetOutput(0, rule.to, context.shape(0));
  return OkStatus();
}

/// Descriptors made from rows, with the texts and rules that they point at.
class Table {
 public:
  Table() {
    for (const UnaryRow& row : UnaryRows())
      Add({{.name = row.name, .traits = row.traits},
           {.infer = InferUnary, .reference = UnaryReference}},
          row.types);
    for (const FoldRow& row : FoldRows()) {
      Add({{.name = row.name,
            .min_inputs = row.variadic ? 1 : 2,
            .max_inputs = row.variadic ? -1 : 2},
           {.infer = row.name == "PRelu" ? InferPRelu : InferFold, .reference = FoldReference}},
          row.types);
    }
    Add({{.name = "BitCast"}, {.infer = InferBitCast, .reference = BitCastReference}}, kAllTypes);
    Add({{.name = "Cast"}, {.infer = InferCast, .reference = CastReference}}, kAllTypes);
    Add({{.name = "CastLike", .min_inputs = 2, .max_inputs = 2},
         {.infer = InferCast, .reference = CastReference}},
        kAllTypes);
    Add({{.name = "Clip", .traits = {Trait::kBounded}, .max_inputs = 3},
         {.infer = InferClip, .reference = ClipReference}},
        kNumericTypes);
    Add({{.name = "Pow", .min_inputs = 2, .max_inputs = 2},
         {.infer = InferPow, .reference = PowReference}},
        kNumericTypes);
    Add({{.name = "Where", .min_inputs = 3, .max_inputs = 3},
         {.infer = InferWhere, .reference = WhereReference}},
        kAllTypes);
  }

  std::span<const Operator> ops() const { return ops_; }

 private:
  void Add(Operator op, TypeSet types) {
    op.traits = op.traits | ir::Traits{Trait::kElementwise};
    op.types = texts_.emplace_back(TypeSetName(types));
    op.imports = ElementwiseImports(op.name);
    if (op.name == "Cast" || op.name == "CastLike")
      op.refused = "strings, complex numbers, and 8-bit floats without a negative zero (FNUZ)";
    ops_.push_back(op);
  }

  std::vector<Operator> ops_;
  std::deque<std::string> texts_;
};

}  // namespace

ElementwiseParams ReadElementwise(const ir::Node& node) {
  if (const UnaryRow* row = FindUnary(node.op)) {
    return {ReadAttribute(node.attributes, row->attributes[0]),
            ReadAttribute(node.attributes, row->attributes[1])};
  }
  if (const FoldRow* row = FindFold(node.op))
    return {ReadAttribute(node.attributes, row->attribute), 0};
  return {};
}

Result<CastRule> ReadCast(const ir::Node& node, DType like) {
  CastRule rule{like, node.attributes.Int("saturate", 1) != 0};
  if (node.op == "CastLike"_op) return rule;
  const std::string name = node.attributes.Text("to");
  const auto to = DTypeFromName(name);
  if (!to) return InvalidModel("attribute 'to': expected a type, got '{}'", name);
  if (!(kAllTypes & TypeBit(*to)))
    return Unsupported("attribute 'to': the type {} is not supported", name);
  rule.to = *to;
  return rule;
}

std::span<const Operator> ElementwiseOps() {
  static const Table table;
  return table.ops();
}

}  // namespace fettle::ops
