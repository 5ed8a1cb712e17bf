#include "ops/select/op.h"

#include <algorithm>

#include "ops/host_ints.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

Status InferTopK(InferContext& context) {
  Shape shape = context.shape(0);
  ASSIGN_OR_RETURN(const int axis, ReadAxis(context.attributes().Int("axis", -1), shape.rank()));
  int64_t k = 0;
  ASSIGN_OR_RETURN(const bool known, ReadHostInt(context, 1, "K", k));
  if (!known) return OkStatus();
  if (k < 0 || k > shape[axis])
    return InvalidModel("input 'K': {} of {} elements cannot be taken", k, shape[axis]);
  shape[axis] = k;
  context.SetOutput(0, context.dtype(0), shape);
  context.SetOutput(1, DType::kI64, shape);
  return OkStatus();
}

Status InferNonZero(InferContext& context) {
  const Constant* value = context.value(0);
  if (value == nullptr) {
    context.MarkDataDependent(0);
    return OkStatus();
  }
  int64_t count = 0;
  for (int64_t i = 0; i < value->elements(); ++i) count += value->GetDouble(i) != 0 ? 1 : 0;
  context.SetOutput(0, DType::kI64, Shape{context.shape(0).rank(), count});
  return OkStatus();
}

Status InferUnique(InferContext& context) {
  const Shape& x = context.shape(0);
  const bool has_axis = context.attributes().Has("axis");
  int axis = 0;
  if (has_axis) {
    ASSIGN_OR_RETURN(axis, ReadAxis(context.attributes().Int("axis"), x.rank()));
  }
  if (context.value(0) == nullptr) {
    context.MarkDataDependent(0);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Tensor value, context.value(0)->ToTensor());
  const UniqueEntries entries = FindUnique(value.view(), has_axis, axis, true);
  const auto count = static_cast<int64_t>(entries.first.size());
  Shape shape{count};
  if (has_axis) {
    shape = x;
    shape[axis] = count;
  }
  context.SetOutput(0, context.dtype(0), std::move(shape));
  context.SetOutput(1, DType::kI64, Shape{count});
  context.SetOutput(2, DType::kI64, Shape{has_axis ? x[axis] : x.elements()});
  context.SetOutput(3, DType::kI64, Shape{count});
  return OkStatus();
}

Status InferCompress(InferContext& context) {
  Shape shape = context.shape(0);
  int axis = 0;
  if (context.attributes().Has("axis")) {
    ASSIGN_OR_RETURN(axis, ReadAxis(context.attributes().Int("axis"), shape.rank()));
  } else {
    shape = Shape{shape.elements()};
  }
  if (context.dtype(1) != DType::kBool || context.shape(1).rank() != 1)
    return InvalidModel("input 'condition': expected a vector of bool");
  const Constant* condition = context.value(1);
  if (condition == nullptr) {
    context.MarkDataDependent(1);
    return OkStatus();
  }
  int64_t count = 0;
  for (int64_t i = 0; i < std::min(condition->elements(), shape[axis]); ++i)
    count += condition->GetInt(i) != 0 ? 1 : 0;
  shape[axis] = count;
  context.SetOutput(0, context.dtype(0), std::move(shape));
  return OkStatus();
}

Status InferReverseSequence(InferContext& context) {
  const Shape& x = context.shape(0);
  const int64_t batch = context.attributes().Int("batch_axis", 1);
  const int64_t time = context.attributes().Int("time_axis", 0);
  const bool axes_fit = (batch == 0 && time == 1) || (batch == 1 && time == 0);
  if (x.rank() < 2 || !axes_fit)
    return InvalidModel("expected rank 2 or more, and axes 0 and 1 as batch_axis and time_axis");
  if (context.shape(1) != Shape{x[static_cast<int>(batch)]}) {
    return InvalidModel("input 'sequence_lens': expected {} values, got shape {}",
                        x[static_cast<int>(batch)], context.shape(1).ToString());
  }
  context.SetOutput(0, context.dtype(0), x);
  return OkStatus();
}

Status InferTensorScatter(InferContext& context) {
  const Shape &cache = context.shape(0), &update = context.shape(1);
  ASSIGN_OR_RETURN(const int axis, ReadAxis(context.attributes().Int("axis", -2), cache.rank()));
  const std::string mode = context.attributes().Text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return InvalidModel("attribute 'mode': expected linear|circular, got '{}'", mode);
  if (axis == 0) return InvalidModel("attribute 'axis': the batch axis cannot be written along");
  Shape fitted = update;
  if (update.rank() == cache.rank() && update[axis] <= cache[axis]) fitted[axis] = cache[axis];
  if (fitted != cache || context.dtype(0) != context.dtype(1)) {
    return InvalidModel("an update of {} does not fit a cache of {}", update.ToString(),
                        cache.ToString());
  }
  if (context.has_input(2) && context.shape(2) != Shape{cache[0]})
    return InvalidModel("input 'write_indices': expected {} values", cache[0]);
  context.SetOutput(0, context.dtype(0), cache);
  return OkStatus();
}

}  // namespace

Status TopKReference(const RefContext& context, const Region& region);
Status NonZeroReference(const RefContext& context, const Region& region);
Status UniqueReference(const RefContext& context, const Region& region);
Status CompressReference(const RefContext& context, const Region& region);
Status ReverseSequenceReference(const RefContext& context, const Region& region);
Status TensorScatterReference(const RefContext& context, const Region& region);
std::span<const ImportRule> TopKImports();
std::span<const ImportRule> NonZeroImports();
std::span<const ImportRule> UniqueImports();
std::span<const ImportRule> CompressImports();
std::span<const ImportRule> ReverseSequenceImports();
std::span<const ImportRule> TensorScatterImports();

std::span<const Operator> SelectOps() {
  static const Operator kOps[] = {
      {{.name = "TopK",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 2,
        .max_inputs = 2,
        .max_outputs = 2,
        .host_inputs = 0b10},
       {.infer = InferTopK,
        .reference = TopKReference,
        .imports = TopKImports(),
        .types = "floats, integers"}},
      {{.name = "NonZero", .traits = {Trait::kWholeOutput}, .host_inputs = 0b1},
       {.infer = InferNonZero,
        .reference = NonZeroReference,
        .imports = NonZeroImports(),
        .types = "all"}},
      {{.name = "Unique", .traits = {Trait::kWholeOutput}, .max_outputs = 4, .host_inputs = 0b1},
       {.infer = InferUnique,
        .reference = UniqueReference,
        .imports = UniqueImports(),
        .types = "all"}},
      {{.name = "Compress", .min_inputs = 2, .max_inputs = 2, .host_inputs = 0b10},
       {.infer = InferCompress,
        .reference = CompressReference,
        .imports = CompressImports(),
        .types = "all"}},
      {{.name = "ReverseSequence", .min_inputs = 2, .max_inputs = 2},
       {.infer = InferReverseSequence,
        .reference = ReverseSequenceReference,
        .imports = ReverseSequenceImports(),
        .types = "all"}},
      {{.name = "TensorScatter", .min_inputs = 2, .max_inputs = 3},
       {.infer = InferTensorScatter,
        .reference = TensorScatterReference,
        .imports = TensorScatterImports(),
        .types = "all"}},
  };
  return kOps;
}

}  // namespace fettle::ops
