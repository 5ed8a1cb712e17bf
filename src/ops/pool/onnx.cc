// Import rules of pooling.
#include "ops/channels_last.h"
#include "ops/import.h"

namespace fettle::ops {
namespace {

/// Opset 1 gave `p` as a float; later ones as an integer.
Status ImportLpPool(ImportContext& context) {
  ir::Attributes attributes = context.attributes();
  if (attributes.Has("p") && attributes.Int("p", -1) == -1)
    attributes.Set("p", static_cast<int64_t>(attributes.Float("p", 2)));
  context.Copy(context.node().op_type, attributes);
  return OkStatus();
}

/// Before opset 16 sample positions were not shifted by half a pixel.
Status ImportRoiAlign10(ImportContext& context) {
  ir::Attributes attributes = context.attributes();
  attributes.Set("coordinate_transformation_mode", std::string("output_half_pixel"));
  context.Copy("RoiAlign", attributes);
  return OkStatus();
}

Status ImportNhwcMaxPool(ImportContext& context) {
  const ir::ValueId x = ChannelsFirst(context, context.input(0));
  const ir::ValueId y = context.Emit1("MaxPool", {x}, context.attributes());
  context.Bind(0, ChannelsLast(context, y));
  return OkStatus();
}

constexpr ImportRule kPoolRules[] = {
    {.op_type = "AveragePool"},
    {.op_type = "GlobalAveragePool"},
    {.op_type = "GlobalLpPool", .run = ImportLpPool},
    {.op_type = "GlobalMaxPool"},
    {.op_type = "LpPool", .run = ImportLpPool},
    {.op_type = "MaxPool"},
    {.op_type = "NhwcMaxPool", .run = ImportNhwcMaxPool, .domain = "com.microsoft"},
    {.op_type = "MaxRoiPool"},
    {.op_type = "MaxUnpool", .since = 9},
    {.op_type = "RoiAlign", .since = 10, .until = 15, .run = ImportRoiAlign10},
    {.op_type = "RoiAlign", .since = 16},
};

}  // namespace

/// The consecutive rules for one operator.
std::span<const ImportRule> PoolImports(std::string_view op) {
  size_t begin = 0;
  while (kPoolRules[begin].op_type != op) ++begin;
  size_t end = begin + 1;
  const auto is_same = [&](std::string_view type) {
    return type == op || (type.starts_with("Nhwc") && type.substr(4) == op);
  };
  while (end < std::size(kPoolRules) && is_same(kPoolRules[end].op_type)) ++end;
  return std::span<const ImportRule>(kPoolRules).subspan(begin, end - begin);
}

}  // namespace fettle::ops
