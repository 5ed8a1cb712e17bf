// Operators whose elements come from positions and a few parameters.
#include "ops/generate/op.h"

#include <algorithm>
#include <cmath>

#include "ops/host_ints.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

/// Of the shape that input 0 says.
Status InferFilled(InferContext& context, DType dtype) {
  std::vector<int64_t> dims;
  ASSIGN_OR_RETURN(const bool known, ReadHostInts(context, 0, "input", dims));
  if (!known) return OkStatus();
  for (int64_t dim : dims) {
    if (dim < 0) return InvalidModel("input 'input': extent {} is negative", dim);
  }
  context.SetOutput(0, dtype, Shape(std::move(dims)));
  return OkStatus();
}

Status InferConstantOfShape(InferContext& context) {
  const Constant value = ReadFillValue(context.node());
  if (value.elements() != 1)
    return InvalidModel("attribute 'value': expected one element, got {}", value.elements());
  return InferFilled(context, value.dtype());
}

Status InferRandomUniform(InferContext& context) { return InferFilled(context, DType::kF32); }

Status InferRange(InferContext& context) {
  for (int i = 0; i < 3; ++i) {
    if (context.dtype(i) != context.dtype(0) || context.shape(i).elements() != 1)
      return InvalidModel("expected three scalars of one type");
  }
  for (int i = 0; i < 3; ++i) {
    if (context.value(i) != nullptr) continue;
    context.MarkDataDependent(i);
    return OkStatus();
  }
  std::optional<int64_t> count;
  const Constant &start = *context.value(0), &limit = *context.value(1), &delta = *context.value(2);
  if (IsInteger(context.dtype(0))) {
    count = CountRange(start.GetInt(0), limit.GetInt(0), delta.GetInt(0));
  } else {
    count = CountRange(start.GetDouble(0), limit.GetDouble(0), delta.GetDouble(0));
  }
  if (!count) return InvalidModel("start, limit and delta give no sequence of sensible length");
  context.SetOutput(0, context.dtype(0), Shape{*count});
  return OkStatus();
}

Status InferEyeLike(InferContext& context) {
  if (context.shape(0).rank() != 2)
    return InvalidModel("expected a matrix, got shape {}", context.shape(0).ToString());
  DType dtype = context.dtype(0);
  if (context.attributes().Has("dtype")) {
    const std::string name = context.attributes().Text("dtype");
    const std::optional<DType> named = DTypeFromName(name);
    if (!named) return InvalidModel("attribute 'dtype': no element type is called '{}'", name);
    dtype = *named;
  }
  context.SetOutput(0, dtype, context.shape(0));
  return OkStatus();
}

Status InferOneHot(InferContext& context) {
  if (context.shape(2) != Shape{2}) {
    return InvalidModel("input 'values': expected 2 elements, got shape {}",
                        context.shape(2).ToString());
  }
  if (context.shape(1).elements() != 1) return InvalidModel("input 'depth': expected a scalar");
  if (context.value(1) == nullptr) {
    context.MarkDataDependent(1);
    return OkStatus();
  }
  const double depth = context.value(1)->GetDouble(0);
  if (!(depth >= 0 && depth < static_cast<double>(kMaxElements)))
    return InvalidModel("input 'depth': value {} out of range", depth);
  const Shape& indices = context.shape(0);
  ASSIGN_OR_RETURN(const int axis,
                   ReadAxis(context.attributes().Int("axis", -1), indices.rank() + 1));
  Dims dims = indices.dims();
  dims.insert(dims.begin() + axis, static_cast<int64_t>(depth));
  context.SetOutput(0, context.dtype(2), Shape(std::move(dims)));
  return OkStatus();
}

Status InferTrilu(InferContext& context) {
  if (context.shape(0).rank() < 2)
    return InvalidModel("expected matrices, got shape {}", context.shape(0).ToString());
  if (context.has_input(1) && context.shape(1).elements() != 1)
    return InvalidModel("input 'k': expected a scalar");
  RETURN_IF_ERROR(CheckType(context, 1, TypeBit(DType::kI64)));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return OkStatus();
}

}  // namespace

Constant ReadFillValue(const ir::Node& node) {
  if (const ir::Attribute* attribute = node.attributes.Find("value")) {
    if (const Constant* value = std::get_if<Constant>(attribute)) return *value;
  }
  const std::byte zero[4] = {};
  return Constant::Splat(DType::kF32, Shape{1}, zero);
}

std::optional<int64_t> CountRange(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) return std::nullopt;
  if (delta > 0 ? limit <= start : start <= limit) return 0;
  const auto low = static_cast<uint64_t>(delta > 0 ? start : limit);
  const auto high = static_cast<uint64_t>(delta > 0 ? limit : start);
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : -static_cast<uint64_t>(delta);
  const uint64_t count = (high - low - 1) / step + 1;
  if (count > static_cast<uint64_t>(kMaxElements)) return std::nullopt;
  return static_cast<int64_t>(count);
}

std::optional<int64_t> CountRange(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (!(count <= static_cast<double>(kMaxElements))) return std::nullopt;
  return count < 0 ? 0 : static_cast<int64_t>(count);
}

Status ConstantOfShapeReference(const RefContext& context, const Region& region);
Status RandomUniformReference(const RefContext& context, const Region& region);
Status RangeReference(const RefContext& context, const Region& region);
Status EyeLikeReference(const RefContext& context, const Region& region);
Status OneHotReference(const RefContext& context, const Region& region);
Status TriluReference(const RefContext& context, const Region& region);
std::span<const ImportRule> ConstantOfShapeImports();
std::span<const ImportRule> RandomUniformImports();
std::span<const ImportRule> RangeImports();
std::span<const ImportRule> EyeLikeImports();
std::span<const ImportRule> OneHotImports();
std::span<const ImportRule> TriluImports();

std::span<const Operator> GenerateOps() {
  static const Operator kOps[] = {
      {{.name = "ConstantOfShape", .host_inputs = 0b1},
       {.infer = InferConstantOfShape,
        .reference = ConstantOfShapeReference,
        .imports = ConstantOfShapeImports(),
        .types = "all"}},
      {{.name = "RandomUniform", .host_inputs = 0b1},
       {.infer = InferRandomUniform,
        .reference = RandomUniformReference,
        .imports = RandomUniformImports(),
        .types = "f32; the others are made of it",
        .refused = "other numbers at each run: they are a function of the seed and the position"}},
      {{.name = "Range", .min_inputs = 3, .max_inputs = 3, .host_inputs = 0b111},
       {.infer = InferRange,
        .reference = RangeReference,
        .imports = RangeImports(),
        .types = "floats, integers"}},
      {{.name = "EyeLike"},
       {.infer = InferEyeLike,
        .reference = EyeLikeReference,
        .imports = EyeLikeImports(),
        .types = "all"}},
      {{.name = "OneHot", .min_inputs = 3, .max_inputs = 3, .host_inputs = 0b10},
       {.infer = InferOneHot,
        .reference = OneHotReference,
        .imports = OneHotImports(),
        .types = "all"}},
      {{.name = "Trilu", .max_inputs = 2},
       {.infer = InferTrilu,
        .reference = TriluReference,
        .imports = TriluImports(),
        .types = "all"}},
  };
  return kOps;
}

}  // namespace fettle::ops
