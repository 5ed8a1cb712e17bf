// Import rules of resampling: older opsets are raised to Resize-19 and GridSample-20.
#include "ops/import.h"

namespace fettle::ops {
namespace {

ir::Attributes AsymmetricAttributes(const ir::Attributes& old, std::string_view nearest) {
  std::string mode = old.Text("mode", "nearest");
  if (mode == "bilinear" || mode == "trilinear") mode = "linear";
  return {{"mode", mode},
          {"coordinate_transformation_mode", std::string("asymmetric")},
          {"nearest_mode", std::string(nearest)}};
}

/// Upsample 7 has its scales as an attribute, 9 as an input; Upsample 1 had two of them.
Status ImportUpsample(ImportContext& context) {
  const ir::Attributes& old = context.attributes();
  ir::ValueId scales = context.input(1);
  if (scales == ir::kAbsent) {
    std::vector<double> values = old.Floats("scales");
    if (values.empty() && old.Has("height_scale"))
      values = {1, 1, old.Float("height_scale", 1), old.Float("width_scale", 1)};
    scales = context.ConstFloats(values);
  }
  context.Bind(0, context.Emit1("Resize", {context.input(0), ir::kAbsent, scales},
                                AsymmetricAttributes(old, "floor")));
  return OkStatus();
}

Status ImportResize10(ImportContext& context) {
  context.Bind(0, context.Emit1("Resize", {context.input(0), ir::kAbsent, context.input(1)},
                                AsymmetricAttributes(context.attributes(), "simple")));
  return OkStatus();
}

void SetDefault(ir::Attributes& attributes, std::string_view name, ir::Attribute value) {
  if (!attributes.Has(name)) attributes.Set(name, std::move(value));
}

/// Opset 11 wrote empty tensors where later ones leave the operand out.
Status ImportResize(ImportContext& context) {
  const auto present = [&](size_t i) {
    const Constant* constant = context.constant(i);
    const bool empty = constant != nullptr && constant->elements() == 0;
    return empty ? ir::kAbsent : context.input(i);
  };
  ir::Attributes attributes = context.attributes();
  SetDefault(attributes, "mode", std::string("nearest"));
  SetDefault(attributes, "coordinate_transformation_mode", std::string("half_pixel"));
  if (attributes.Text("mode") == "nearest")
    SetDefault(attributes, "nearest_mode", std::string("round_prefer_floor"));
  if (attributes.Text("mode") == "cubic") SetDefault(attributes, "cubic_coeff_a", -0.75);
  const ir::ValueId sizes = present(3);
  // Opset 11 allows scales beside sizes where they are computed; sizes decide.
  const ir::ValueId scales = sizes == ir::kAbsent ? present(2) : ir::kAbsent;
  const bool crop = attributes.Text("coordinate_transformation_mode") == "tf_crop_and_resize";
  context.Bind(
      0, context.Emit1("Resize", {context.input(0), crop ? present(1) : ir::kAbsent, scales, sizes},
                       attributes));
  return OkStatus();
}

Status ImportGridSample16(ImportContext& context) {
  ir::Attributes attributes = context.attributes();
  const std::string mode = attributes.Text("mode", "bilinear");
  if (mode == "bilinear") attributes.Set("mode", std::string("linear"));
  if (mode == "bicubic") attributes.Set("mode", std::string("cubic"));
  context.Copy("GridSample", attributes);
  return OkStatus();
}

constexpr ImportRule kResize[] = {
    {.op_type = "Upsample", .since = 1, .until = 9, .run = ImportUpsample},
    {.op_type = "Resize", .since = 10, .until = 10, .run = ImportResize10},
    {.op_type = "Resize", .since = 11, .run = ImportResize},
};
constexpr ImportRule kGridSample[] = {
    {.op_type = "GridSample", .since = 16, .until = 19, .run = ImportGridSample16},
    {.op_type = "GridSample", .since = 20},
    {.op_type = "GridSample", .run = ImportGridSample16, .domain = "com.microsoft"},
};

}  // namespace

std::span<const ImportRule> ResizeImports() { return kResize; }
std::span<const ImportRule> GridSampleImports() { return kGridSample; }

}  // namespace fettle::ops
