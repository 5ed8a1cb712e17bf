#include "ops/infer.h"

#include <iterator>

namespace fettle::ops {
namespace {

struct NamedSet {
  TypeSet types;
  std::string_view name;
};

// Largest first: a set is named by the parts that it contains.
constexpr NamedSet kNamedSets[] = {
    {kFloatTypes, "floats"},
    {kIntegerTypes, "integers"},
    {kSignedTypes, "signed integers"},
    {kUnsignedTypes, "unsigned integers"},
    {kBoolType, "bool"},
    {kFloat8Types, "8-bit floats"},
    {kInt4Types, "4-bit integers"},
};

}  // namespace

std::string TypeSetName(TypeSet types) {
  std::string text;
  const auto append = [&](std::string_view name) {
    if (!text.empty()) text += ", ";
    text += name;
  };
  for (const NamedSet& set : kNamedSets) {
    if ((types & set.types) != set.types) continue;
    append(set.name);
    types &= ~set.types;
  }
  for (unsigned bit = 0; bit < 32; ++bit) {
    if (types >> bit & 1u) append(DTypeName(static_cast<DType>(bit)));
  }
  return text;
}

Status CheckType(const InferContext& context, int i, TypeSet types) {
  if (!context.has_input(i)) return OkStatus();
  const DType dtype = context.dtype(i);
  if (types & TypeBit(dtype)) return OkStatus();
  if (!IsStored(dtype) || RowOf(dtype).kind == DTypeClass::kComplex) {
    return Unsupported("input {} has the type {}, which is not supported", i, DTypeName(dtype));
  }
  return InvalidModel("input {} has the type {}, expected {}", i, DTypeName(dtype),
                      TypeSetName(types));
}

Status CheckTypes(const InferContext& context, int first, int last, TypeSet types) {
  int seen = -1;
  for (int i = first; i < last; ++i) {
    if (!context.has_input(i)) continue;
    RETURN_IF_ERROR(CheckType(context, i, types));
    if (seen < 0) seen = i;
    if (context.dtype(i) != context.dtype(seen)) {
      return InvalidModel("inputs {} and {} have different types: {} and {}", seen, i,
                          DTypeName(context.dtype(seen)), DTypeName(context.dtype(i)));
    }
  }
  return OkStatus();
}

Result<Shape> BroadcastInputs(const InferContext& context, int first, int last) {
  Shape shape;
  for (int i = first; i < last; ++i) {
    if (!context.has_input(i)) continue;
    const auto broadcast = BroadcastShapes(shape, context.shape(i));
    if (!broadcast) {
      return InvalidModel("shapes {} and {} do not broadcast", shape.ToString(),
                          context.shape(i).ToString());
    }
    shape = *broadcast;
  }
  return shape;
}

}  // namespace fettle::ops
