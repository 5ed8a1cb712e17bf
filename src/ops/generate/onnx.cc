#include "ops/import.h"
#include "ops/onnx_types.h"

namespace fettle::ops {
namespace {

/// The value of a Constant node, in whichever of its attributes it is.
Status ImportConstant(ImportContext& context) {
  const ir::Attributes& attributes = context.attributes();
  if (const ir::Attribute* value = attributes.Find("value")) {
    const Constant* constant = std::get_if<Constant>(value);
    if (constant == nullptr) return InvalidModel("attribute 'value': expected a tensor");
    context.Bind(0, context.Const(*constant));
  } else if (attributes.Has("value_int")) {
    ASSIGN_OR_RETURN(const Tensor scalar,
                     Tensor::FromVector<int64_t>(Shape{}, {attributes.Int("value_int")}));
    context.Bind(0, context.Const(Constant::FromTensor(scalar)));
  } else if (attributes.Has("value_ints")) {
    context.Bind(0, context.ConstInts(attributes.Ints("value_ints")));
  } else if (attributes.Has("value_float")) {
    context.Bind(0, context.ConstScalar(DType::kF32, attributes.Float("value_float")));
  } else if (attributes.Has("value_floats")) {
    context.Bind(0, context.ConstFloats(attributes.Floats("value_floats")));
  } else {
    return Unsupported("Constant holds dense numbers only, neither strings nor sparse tensors");
  }
  return OkStatus();
}

Status ImportEyeLike(ImportContext& context) {
  ir::Attributes attributes = {{"k", context.attributes().Int("k")}};
  if (context.attributes().Has("dtype")) {
    ASSIGN_OR_RETURN(const DType dtype, DTypeFromOnnx(context.attributes().Int("dtype")));
    attributes.Set("dtype", std::string(DTypeName(dtype)));
  }
  context.Bind(0, context.Emit1("EyeLike", {context.input(0)}, attributes));
  return OkStatus();
}

}  // namespace

std::span<const ImportRule> ConstantOfShapeImports() {
  static constexpr ImportRule kGenerateRules[] = {
      {.op_type = "ConstantOfShape", .since = 9},
      {.op_type = "Constant", .run = ImportConstant},
  };
  return kGenerateRules;
}

std::span<const ImportRule> RangeImports() {
  static constexpr ImportRule kGenerateRules[] = {{.op_type = "Range", .since = 11}};
  return kGenerateRules;
}

std::span<const ImportRule> EyeLikeImports() {
  static constexpr ImportRule kGenerateRules[] = {
      {.op_type = "EyeLike", .since = 9, .run = ImportEyeLike}};
  return kGenerateRules;
}

std::span<const ImportRule> OneHotImports() {
  static constexpr ImportRule kGenerateRules[] = {{.op_type = "OneHot", .since = 9}};
  return kGenerateRules;
}

std::span<const ImportRule> TriluImports() {
  static constexpr ImportRule kGenerateRules[] = {
      {.op_type = "Trilu", .since = 14},
      {.op_type = "Trilu", .domain = "com.microsoft"},
  };
  return kGenerateRules;
}

}  // namespace fettle::ops
