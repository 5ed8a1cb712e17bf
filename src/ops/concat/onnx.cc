#include "ops/import.h"

namespace fettle::ops {
namespace {

/// Below opset 4 the axis had a default.
Status ImportConcat1(ImportContext& context) {
  context.Copy("Concat", {{"axis", context.attributes().Int("axis", 1)}});
  return OkStatus();
}

/// Split below opset 13: the sizes are an attribute; in opset 1 they may be an operand.
Status ImportSplitAttribute(ImportContext& context) {
  std::vector<ir::ValueId> inputs = {context.input(0)};
  if (context.opset() < 2 && context.has_input(1)) {
    inputs.push_back(context.Emit1("Cast", {context.input(1)}, {{"to", std::string("i64")}}));
  }
  const std::vector<int64_t> sizes = context.attributes().Ints("split");
  if (inputs.size() == 1 && !sizes.empty()) inputs.push_back(context.ConstInts(sizes));
  const std::vector<ir::ValueId> parts = context.Emit(
      "Split", inputs, {{"axis", context.attributes().Int("axis")}}, context.num_outputs());
  for (size_t i = 0; i < parts.size(); ++i) context.Bind(i, parts[i]);
  return OkStatus();
}

}  // namespace

std::span<const ImportRule> ConcatImports() {
  static constexpr ImportRule kConcatRules[] = {
      {.op_type = "Concat", .until = 3, .run = ImportConcat1}, {.op_type = "Concat", .since = 4}};
  return kConcatRules;
}

std::span<const ImportRule> SplitImports() {
  static constexpr ImportRule kConcatRules[] = {
      {.op_type = "Split", .until = 12, .run = ImportSplitAttribute},
      {.op_type = "Split", .since = 13},
  };
  return kConcatRules;
}

}  // namespace fettle::ops
