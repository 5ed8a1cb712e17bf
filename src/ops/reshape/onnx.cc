#include <vector>

#include "ops/generate/op.h"
#include "ops/import.h"
#include "ops/reshape/op.h"

namespace fettle::ops {
namespace {

/// Squeeze and Unsqueeze below opset 13: axes are an attribute.
Status ImportAxes(ImportContext& context) {
  std::vector<ir::ValueId> inputs = {context.input(0)};
  if (context.attributes().Has("axes"))
    inputs.push_back(context.ConstInts(context.attributes().Ints("axes")));
  context.Bind(0, context.Emit1(context.node().op_type, inputs));
  return OkStatus();
}

/// One axis, a scalar of int32.
Status ImportExpandDims(ImportContext& context) {
  const ir::ValueId axis = context.Emit1("Cast", {context.input(1)}, {{"to", std::string("i64")}});
  const ir::ValueId axes = context.Emit1("Reshape", {axis, context.ConstInts({1})});
  context.Bind(0, context.Emit1("Unsqueeze", {context.input(0), axes}));
  return OkStatus();
}

/// Whether elements drop: training_mode (opset 12) is true and the ratio, 0.5 where it is left out,
/// is not 0.
Result<bool> DropsElements(const ImportContext& context) {
  if (!context.has_input(2)) return false;
  const Constant* training = context.constant(2);
  const Constant* ratio = context.constant(1);
  if (training != nullptr && (training->elements() != 1 || training->GetInt(0) == 0)) return false;
  if (ratio != nullptr && ratio->elements() == 1 && ratio->GetDouble(0) == 0) return false;
  if (training != nullptr) return true;
  return Unsupported("Dropout whose training mode is not a constant is not supported");
}

/// Elements that are kept are scaled up by what is dropped of them.
ir::ValueId KeepAtRandom(ImportContext& context, ir::ValueId shape, ir::ValueId& mask) {
  const ir::ValueId x = context.input(0);
  const ir::ValueId ratio =
      context.has_input(1) ? context.Emit1("Cast", {context.input(1)}, {{"to", std::string("f32")}})
                           : context.ConstScalar(DType::kF32, 0.5);
  mask = context.Emit1("GreaterOrEqual", {EmitUniform(context, shape, 0), ratio});
  const ir::ValueId kept = context.Emit1("Sub", {context.ConstScalar(DType::kF32, 1), ratio});
  const ir::ValueId scaled = context.Emit1("Div", {x, context.Emit1("CastLike", {kept, x})});
  const ir::ValueId zero = context.Emit1("CastLike", {context.ConstScalar(DType::kF32, 0), x});
  return context.Emit1("Where", {mask, scaled, zero});
}

/// Dropout keeps everything outside of training (below opset 7 whatever `is_test` says, which the
/// files of that time left at its default); its mask is then all ones (of the input's type below
/// opset 10, bool since).
Status ImportDropout(ImportContext& context) {
  ASSIGN_OR_RETURN(const bool drops, DropsElements(context));
  const bool masks = context.num_outputs() > 1 && !context.node().outputs[1].empty();
  const ir::ValueId shape =
      drops || masks ? context.Emit1("Shape", {context.input(0)}) : ir::kAbsent;
  ir::ValueId mask = ir::kAbsent;
  context.Bind(0, drops ? KeepAtRandom(context, shape, mask)
                        : context.Emit1("Identity", {context.input(0)}));
  if (!masks) return OkStatus();
  if (!drops) {
    const std::byte one{1};
    const Constant ones = Constant::Splat(DType::kBool, Shape{1}, {&one, 1});
    mask = context.Emit1("ConstantOfShape", {shape}, {{"value", ones}});
    if (context.opset() < 10) mask = context.Emit1("CastLike", {mask, context.input(0)});
  }
  context.Bind(1, mask);
  return OkStatus();
}

/// Below opset 5 the shape is an attribute.
Status ImportReshape1(ImportContext& context) {
  const std::vector<int64_t> shape = context.attributes().Ints("shape");
  context.Bind(0, context.Emit1("Reshape", {context.input(0), context.ConstInts(shape)}));
  return OkStatus();
}

/// Below opset 6: x, the number of repeats and the one axis that they are along, both of x's type.
Status ImportTile1(ImportContext& context) {
  const ir::ValueId one = context.ConstInts({1});
  const auto as_index = [&](size_t i) {
    const ir::ValueId number =
        context.Emit1("Cast", {context.input(i)}, {{"to", std::string("i64")}});
    return context.Emit1("Reshape", {number, one});
  };
  const ir::ValueId rank = context.Emit1("Shape", {context.Emit1("Shape", {context.input(0)})});
  const ir::ValueId repeats = context.Emit1(
      "ScatterElements", {context.Emit1("Expand", {one, rank}), as_index(2), as_index(1)});
  context.Bind(0, context.Emit1("Tile", {context.input(0), repeats}));
  return OkStatus();
}

/// Bytes that are known under another shape: packed numbers that some other node wants as a matrix.
bool BindReshapedBytes(ImportContext& context) {
  const Constant *x = context.constant(0), *target = context.constant(1);
  if (x == nullptr || target == nullptr || target->dtype() != DType::kI64) return false;
  if (x->dtype() != DType::kU8 && x->dtype() != DType::kI8) return false;
  std::vector<int64_t> dims(target->elements());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = target->GetInt(static_cast<int64_t>(i));
  const Result<Shape> shape =
      ResolveReshape(x->shape(), dims, context.attributes().Int("allowzero", 0) != 0);
  if (!shape.ok()) return false;  // the operator says what is wrong
  context.Bind(0, context.Const(x->Reshaped(*shape)));
  return true;
}

Status ImportReshape(ImportContext& context) {
  if (!BindReshapedBytes(context)) context.Copy("Reshape", context.attributes());
  return OkStatus();
}

}  // namespace

std::span<const ImportRule> ReshapeImports() {
  static constexpr ImportRule kReshapeRules[] = {
      {.op_type = "Reshape", .until = 4, .run = ImportReshape1},
      {.op_type = "Reshape", .since = 5, .run = ImportReshape}};
  return kReshapeRules;
}

std::span<const ImportRule> FlattenImports() {
  static constexpr ImportRule kReshapeRules[] = {{.op_type = "Flatten"}};
  return kReshapeRules;
}

std::span<const ImportRule> SqueezeImports() {
  static constexpr ImportRule kReshapeRules[] = {
      {.op_type = "Squeeze", .until = 12, .run = ImportAxes},
      {.op_type = "Squeeze", .since = 13},
  };
  return kReshapeRules;
}

std::span<const ImportRule> UnsqueezeImports() {
  static constexpr ImportRule kReshapeRules[] = {
      {.op_type = "Unsqueeze", .until = 12, .run = ImportAxes},
      {.op_type = "Unsqueeze", .since = 13},
      {.op_type = "ExpandDims", .run = ImportExpandDims, .domain = "com.microsoft"},
  };
  return kReshapeRules;
}

std::span<const ImportRule> IdentityImports() {
  static constexpr ImportRule kReshapeRules[] = {
      {.op_type = "Identity"},
      {.op_type = "Dropout", .run = ImportDropout},
  };
  return kReshapeRules;
}

std::span<const ImportRule> ShapeImports() {
  static constexpr ImportRule kReshapeRules[] = {{.op_type = "Shape"}};
  return kReshapeRules;
}

std::span<const ImportRule> SizeImports() {
  static constexpr ImportRule kReshapeRules[] = {{.op_type = "Size"}};
  return kReshapeRules;
}

std::span<const ImportRule> ExpandImports() {
  static constexpr ImportRule kReshapeRules[] = {{.op_type = "Expand", .since = 8}};
  return kReshapeRules;
}

std::span<const ImportRule> TileImports() {
  static constexpr ImportRule kReshapeRules[] = {
      {.op_type = "Tile", .until = 5, .run = ImportTile1}, {.op_type = "Tile", .since = 6}};
  return kReshapeRules;
}

}  // namespace fettle::ops
