#include "ops/reduce/op.h"

#include "ops/host_ints.h"
#include "ops/import.h"
#include "ops/infer.h"

namespace fettle::ops {

Status ReduceReference(const RefContext& context, const Region& region);
Status ArgReference(const RefContext& context, const Region& region);
Status CumulateReference(const RefContext& context, const Region& region);

namespace {

Status InferReduce(InferContext& context) {
  const bool ordered = context.node().op == "ReduceMax"_op || context.node().op == "ReduceMin"_op;
  RETURN_IF_ERROR(CheckType(context, 0, ordered ? kNumericTypes | kBoolType : kNumericTypes));
  std::vector<int64_t> axes;
  ASSIGN_OR_RETURN(const bool known, ReadHostInts(context, 1, "axes", axes));
  if (!known) return OkStatus();
  ASSIGN_OR_RETURN(const AxisMask mask, ReduceAxes(context.node(), context.shape(0).rank(), axes));
  const bool keepdims = context.attributes().Int("keepdims", 1) != 0;
  context.SetOutput(0, context.dtype(0), ReducedShape(context.shape(0), mask, keepdims));
  return OkStatus();
}

Status InferArg(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kNumericTypes));
  const Shape& x = context.shape(0);
  ASSIGN_OR_RETURN(const int axis, ReadAxis(context.attributes().Int("axis", 0), x.rank()));
  if (x[axis] == 0) return InvalidModel("axis {} of {} has no elements", axis, x.ToString());
  AxisMask mask(x.rank(), false);
  mask[axis] = true;
  const bool keepdims = context.attributes().Int("keepdims", 1) != 0;
  context.SetOutput(0, DType::kI64, ReducedShape(x, mask, keepdims));
  return OkStatus();
}

Status InferCumulate(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kNumericTypes));
  if (!IsInteger(context.dtype(1)) || context.shape(1).elements() != 1)
    return InvalidModel("input 'axis': expected one integer");
  if (context.value(1) != nullptr)
    RETURN_IF_ERROR(ReadAxis(context.value(1)->GetInt(0), context.shape(0).rank()).status());
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return OkStatus();
}

/// Axes were an attribute up to opset 17 (12 for ReduceSum).
Status ImportAxesAttribute(ImportContext& context) {
  ir::Attributes attributes = context.attributes();
  const std::vector<int64_t> axes = attributes.Ints("axes");
  attributes.Erase("axes");
  std::vector<ir::ValueId> inputs = {context.input(0)};
  if (!axes.empty()) inputs.push_back(context.ConstInts(axes));
  context.Bind(0, context.Emit1(context.node().op_type, inputs, std::move(attributes)));
  return OkStatus();
}

/// The two import rules of a reduction: axes as an attribute until `until`, as an operand later.
template <int kUntil>
struct ReduceRules {
  constexpr explicit ReduceRules(std::string_view op)
      : rules{{.op_type = op, .until = kUntil, .run = ImportAxesAttribute},
              {.op_type = op, .since = kUntil + 1}} {}
  ImportRule rules[2];
};

constexpr ReduceRules<17> kL1("ReduceL1"), kL2("ReduceL2"), kLogSum("ReduceLogSum"),
    kLogSumExp("ReduceLogSumExp"), kMax("ReduceMax"), kMean("ReduceMean"), kMin("ReduceMin"),
    kProd("ReduceProd"), kSumSquare("ReduceSumSquare");
constexpr ReduceRules<12> kSum("ReduceSum");
constexpr ImportRule kArgMaxImports[] = {{.op_type = "ArgMax"}};
constexpr ImportRule kArgMinImports[] = {{.op_type = "ArgMin"}};
constexpr ImportRule kCumProdImports[] = {{.op_type = "CumProd", .since = 26}};
constexpr ImportRule kCumSumImports[] = {{.op_type = "CumSum"}};

Operator Reduction(std::string_view name, std::span<const ImportRule> imports,
                   ir::Traits more = {}) {
  return {{.name = name,
           .traits = more | ir::Traits{Trait::kReduces},
           .max_inputs = 2,
           .host_inputs = 1u << 1},
          {.infer = InferReduce,
           .reference = ReduceReference,
           .imports = imports,
           .types = "floats, integers"}};
}

Operator Argument(std::string_view name, std::span<const ImportRule> imports) {
  return {{.name = name, .traits = {Trait::kReduces}},
          {.infer = InferArg,
           .reference = ArgReference,
           .imports = imports,
           .types = "floats, integers"}};
}

}  // namespace

Result<AxisMask> ReduceAxes(const ir::Node& node, int rank, const std::vector<int64_t>& axes) {
  const bool all = axes.empty() && node.attributes.Int("noop_with_empty_axes", 0) == 0;
  AxisMask mask(rank, all);
  for (int64_t value : axes) {
    ASSIGN_OR_RETURN(const int axis, ReadAxis(value, rank));
    mask[axis] = true;
  }
  return mask;
}

Shape ReducedShape(const Shape& shape, const AxisMask& mask, bool keepdims) {
  Dims dims;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!mask[i]) {
      dims.push_back(shape[i]);
    } else if (keepdims) {
      dims.push_back(1);
    }
  }
  return Shape(dims);
}

std::span<const Operator> ReduceOps() {
  static const Operator kOps[] = {
      Argument("ArgMax", kArgMaxImports),
      Argument("ArgMin", kArgMinImports),
      {{.name = "CumProd", .traits = {Trait::kWholeOutput}, .min_inputs = 2, .max_inputs = 2},
       {.infer = InferCumulate,
        .reference = CumulateReference,
        .imports = kCumProdImports,
        .types = "floats, integers"}},
      {{.name = "CumSum", .traits = {Trait::kWholeOutput}, .min_inputs = 2, .max_inputs = 2},
       {.infer = InferCumulate,
        .reference = CumulateReference,
        .imports = kCumSumImports,
        .types = "floats, integers"}},
      Reduction("ReduceL1", kL1.rules),
      Reduction("ReduceL2", kL2.rules, {Trait::kTakesEpilogue}),
      Reduction("ReduceLogSum", kLogSum.rules),
      Reduction("ReduceLogSumExp", kLogSumExp.rules),
      Reduction("ReduceMax", kMax.rules, {Trait::kTakesEpilogue}),
      Reduction("ReduceMean", kMean.rules, {Trait::kTakesEpilogue}),
      Reduction("ReduceMin", kMin.rules, {Trait::kTakesEpilogue}),
      Reduction("ReduceProd", kProd.rules, {Trait::kTakesEpilogue}),
      Reduction("ReduceSum", kSum.rules, {Trait::kTakesEpilogue}),
      Reduction("ReduceSumSquare", kSumSquare.rules, {Trait::kTakesEpilogue}),
  };
  return kOps;
}

}  // namespace fettle::ops
