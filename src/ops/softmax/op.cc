#include "ops/softmax/op.h"

#include "ops/host_ints.h"
#include "ops/import.h"
#include "ops/infer.h"

namespace fettle::ops {

Status SoftmaxReference(const RefContext& context, const Region& region);
Status LogSoftmaxReference(const RefContext& context, const Region& region);
Status HardmaxReference(const RefContext& context, const Region& region);

namespace {

Status InferSoftmax(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  ASSIGN_OR_RETURN(const AxisMask mask, SoftmaxAxes(context.node(), context.shape(0).rank()));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return OkStatus();
}

/// Up to opset 12 the input is seen as a matrix: axes before `axis` are rows, the rest columns.
Status ImportFlattened(ImportContext& context) {
  context.Copy(context.node().op_type,
               {{"axis", context.attributes().Int("axis", 1)}, {"flatten_2d", int64_t{1}}});
  return OkStatus();
}

constexpr ImportRule kHardmaxImports[] = {
    {.op_type = "Hardmax", .until = 12, .run = ImportFlattened},
    {.op_type = "Hardmax", .since = 13}};
constexpr ImportRule kLogSoftmaxImports[] = {
    {.op_type = "LogSoftmax", .until = 12, .run = ImportFlattened},
    {.op_type = "LogSoftmax", .since = 13}};
constexpr ImportRule kSoftmaxImports[] = {
    {.op_type = "Softmax", .until = 12, .run = ImportFlattened},
    {.op_type = "Softmax", .since = 13}};

}  // namespace

Result<AxisMask> SoftmaxAxes(const ir::Node& node, int rank) {
  AxisMask mask(rank, false);
  const bool flatten = node.attributes.Int("flatten_2d", 0) != 0;
  const int64_t axis = node.attributes.Int("axis", -1);
  // A matrix view may have its border behind the last axis: rows of one element.
  if (flatten && axis == rank) return mask;
  if (rank == 0 && (axis == 0 || axis == -1)) return mask;
  ASSIGN_OR_RETURN(const int first, ReadAxis(axis, rank));
  const int last = flatten ? rank : first + 1;
  for (int i = first; i < last; ++i) mask[i] = true;
  return mask;
}

bool NanToZero(const ir::Node& softmax) { return softmax.attributes.Int("nan_to_zero", 0) != 0; }

std::span<const Operator> SoftmaxOps() {
  static const Operator kOps[] = {
      {{.name = "Hardmax"},
       {.infer = InferSoftmax, .reference = HardmaxReference, .imports = kHardmaxImports}},
      {{.name = "LogSoftmax", .traits = {Trait::kTakesEpilogue}},
       {.infer = InferSoftmax, .reference = LogSoftmaxReference, .imports = kLogSoftmaxImports}},
      {{.name = "Softmax", .traits = {Trait::kTakesEpilogue}},
       {.infer = InferSoftmax, .reference = SoftmaxReference, .imports = kSoftmaxImports}},
  };
  return kOps;
}

}  // namespace fettle::ops
