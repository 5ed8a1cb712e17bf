#include "ops/import.h"

namespace fettle::ops {
namespace {

/// Split below opset 13: the sizes are an attribute.
Status ImportSplitAttribute(ImportContext& context) {
  std::vector<ir::ValueId> inputs = {context.input(0)};
  const std::vector<int64_t> sizes = context.attributes().Ints("split");
  if (!sizes.empty()) inputs.push_back(context.ConstInts(sizes));
  const std::vector<ir::ValueId> parts = context.Emit(
      "Split", inputs, {{"axis", context.attributes().Int("axis")}}, context.num_outputs());
  for (size_t i = 0; i < parts.size(); ++i) context.Bind(i, parts[i]);
  return OkStatus();
}

}  // namespace

std::span<const ImportRule> ConcatImports() {
  static constexpr ImportRule kRules[] = {{.op_type = "Concat", .since = 4}};
  return kRules;
}

std::span<const ImportRule> SplitImports() {
  static constexpr ImportRule kRules[] = {
      {.op_type = "Split", .since = 2, .until = 12, .run = ImportSplitAttribute},
      {.op_type = "Split", .since = 13},
  };
  return kRules;
}

}  // namespace fettle::ops
