#include "ops/gather/op.h"

#include <algorithm>

#include "ops/gather/onnx.h"
#include "ops/host_ints.h"
#include "ops/import.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

Status CheckIndices(const InferContext& context) {
  const DType dtype = context.dtype(1);
  if (dtype == DType::kI64 || dtype == DType::kI32) return OkStatus();
  return InvalidModel("input 'indices': expected i32 or i64, got {}", DTypeName(dtype));
}

Status InferGather(InferContext& context) {
  const Shape &x = context.shape(0), &indices = context.shape(1);
  RETURN_IF_ERROR(CheckIndices(context));
  ASSIGN_OR_RETURN(const int axis, ReadAxis(context.attributes().Int("axis"), x.rank()));
  Dims dims(x.begin(), x.begin() + axis);
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), x.begin() + axis + 1, x.end());
  context.SetOutput(0, context.dtype(0), Shape(std::move(dims)));
  return OkStatus();
}

/// Indices of GatherElements and ScatterElements: of the data's rank, no axis but `axis` longer.
Status CheckElementwiseIndices(const InferContext& context) {
  const Shape &x = context.shape(0), &indices = context.shape(1);
  RETURN_IF_ERROR(CheckIndices(context));
  ASSIGN_OR_RETURN(const int axis, ReadAxis(context.attributes().Int("axis"), x.rank()));
  bool fits = x.rank() == indices.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == axis || indices[i] <= x[i];
  if (!fits) {
    return InvalidModel("indices {} do not fit data {} along axis {}", indices.ToString(),
                        x.ToString(), axis);
  }
  return OkStatus();
}

Status InferGatherElements(InferContext& context) {
  RETURN_IF_ERROR(CheckElementwiseIndices(context));
  context.SetOutput(0, context.dtype(0), context.shape(1));
  return OkStatus();
}

Status InferGatherND(InferContext& context) {
  const Shape &x = context.shape(0), &indices = context.shape(1);
  RETURN_IF_ERROR(CheckIndices(context));
  const int64_t batch = context.attributes().Int("batch_dims");
  if (batch < 0 || batch >= std::min(x.rank(), indices.rank()))
    return InvalidModel("attribute 'batch_dims': value {} out of range", batch);
  const int64_t depth = indices[indices.rank() - 1];
  if (depth < 0 || batch + depth > x.rank()) {
    return InvalidModel("indices {} do not fit data {}", indices.ToString(), x.ToString());
  }
  for (int i = 0; i < batch; ++i) {
    if (x[i] != indices[i])
      return InvalidModel("indices {} and data {} differ in batch axis {}", indices.ToString(),
                          x.ToString(), i);
  }
  Dims dims(indices.begin(), indices.end() - 1);
  dims.insert(dims.end(), x.begin() + batch + depth, x.end());
  context.SetOutput(0, context.dtype(0), Shape(std::move(dims)));
  return OkStatus();
}

Status CheckUpdates(const InferContext& context, const Shape& expected) {
  RETURN_IF_ERROR(ReadReduction(context.node()).status());
  if (context.dtype(2) != context.dtype(0)) {
    return InvalidModel("input 'updates': expected {}, got {}", DTypeName(context.dtype(0)),
                        DTypeName(context.dtype(2)));
  }
  if (context.shape(2) != expected) {
    return InvalidModel("input 'updates': expected shape {}, got {}", expected.ToString(),
                        context.shape(2).ToString());
  }
  return OkStatus();
}

Status InferScatterElements(InferContext& context) {
  RETURN_IF_ERROR(CheckElementwiseIndices(context));
  RETURN_IF_ERROR(CheckUpdates(context, context.shape(1)));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return OkStatus();
}

Status InferScatterND(InferContext& context) {
  const Shape &x = context.shape(0), &indices = context.shape(1);
  RETURN_IF_ERROR(CheckIndices(context));
  const int64_t depth = indices.rank() == 0 ? -1 : indices[indices.rank() - 1];
  if (depth < 0 || depth > x.rank())
    return InvalidModel("indices {} do not fit data {}", indices.ToString(), x.ToString());
  Dims dims(indices.begin(), indices.end() - 1);
  dims.insert(dims.end(), x.begin() + depth, x.end());
  RETURN_IF_ERROR(CheckUpdates(context, Shape(std::move(dims))));
  context.SetOutput(0, context.dtype(0), x);
  return OkStatus();
}

}  // namespace

Result<Reduction> ReadReduction(const ir::Node& node) {
  const std::string word = node.attributes.Text("reduction", "none");
  if (word == "none") return Reduction::kNone;
  if (word == "add") return Reduction::kAdd;
  if (word == "mul") return Reduction::kMul;
  if (word == "max") return Reduction::kMax;
  if (word == "min") return Reduction::kMin;
  return InvalidModel("attribute 'reduction': expected none|add|mul|max|min, got '{}'", word);
}

Status IndexOutOfRange(int64_t index, int64_t extent) {
  return InvalidArgument("index {} is out of range for an axis of {} elements", index, extent);
}

Status GatherReference(const RefContext& context, const Region& region);
Status GatherElementsReference(const RefContext& context, const Region& region);
Status GatherNDReference(const RefContext& context, const Region& region);
Status ScatterElementsReference(const RefContext& context, const Region& region);
Status ScatterNDReference(const RefContext& context, const Region& region);

namespace {

constexpr ImportRule kGather[] = {
    {.op_type = "Gather"},
    {.op_type = "GatherBlockQuantized", .run = ImportGatherBlockQuantized, .domain = kMicrosoft}};
constexpr ImportRule kGatherElements[] = {{.op_type = "GatherElements", .since = 11}};
constexpr ImportRule kGatherND[] = {
    {.op_type = "GatherND", .since = 11},
    {.op_type = "GatherND", .domain = kMicrosoft},
};
constexpr ImportRule kScatterElements[] = {
    {.op_type = "ScatterElements", .since = 11},
    {.op_type = "Scatter", .since = 9},
};
constexpr ImportRule kScatterND[] = {{.op_type = "ScatterND", .since = 11}};

}  // namespace

std::span<const Operator> GatherOps() {
  static const Operator kOps[] = {
      {{.name = "Gather", .traits = {Trait::kMovesElements}, .min_inputs = 2, .max_inputs = 2},
       {.infer = InferGather, .reference = GatherReference, .imports = kGather, .types = "all"}},
      {{.name = "GatherElements", .min_inputs = 2, .max_inputs = 2},
       {.infer = InferGatherElements,
        .reference = GatherElementsReference,
        .imports = kGatherElements,
        .types = "all"}},
      {{.name = "GatherND", .min_inputs = 2, .max_inputs = 2},
       {.infer = InferGatherND,
        .reference = GatherNDReference,
        .imports = kGatherND,
        .types = "all"}},
      {{.name = "ScatterElements",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 3,
        .max_inputs = 3},
       {.infer = InferScatterElements,
        .reference = ScatterElementsReference,
        .imports = kScatterElements,
        .types = "all"}},
      {{.name = "ScatterND", .traits = {Trait::kWholeOutput}, .min_inputs = 3, .max_inputs = 3},
       {.infer = InferScatterND,
        .reference = ScatterNDReference,
        .imports = kScatterND,
        .types = "all"}},
  };
  return kOps;
}

}  // namespace fettle::ops
