#include "ops/import.h"

namespace fettle::ops {
namespace {

/// TopK below opset 10: k is an attribute.
Status ImportTopKAttribute(ImportContext& context) {
  const std::vector<ir::ValueId> results =
      context.Emit("TopK", {context.input(0), context.ConstInts({context.attributes().Int("k")})},
                   {{"axis", context.attributes().Int("axis", -1)}}, context.num_outputs());
  for (size_t i = 0; i < results.size(); ++i) context.Bind(i, results[i]);
  return OkStatus();
}

}  // namespace

std::span<const ImportRule> TopKImports() {
  static constexpr ImportRule kSelectRules[] = {
      {.op_type = "TopK", .until = 9, .run = ImportTopKAttribute},
      {.op_type = "TopK", .since = 10},
  };
  return kSelectRules;
}

std::span<const ImportRule> NonZeroImports() {
  static constexpr ImportRule kSelectRules[] = {{.op_type = "NonZero", .since = 9}};
  return kSelectRules;
}

std::span<const ImportRule> UniqueImports() {
  static constexpr ImportRule kSelectRules[] = {{.op_type = "Unique", .since = 11}};
  return kSelectRules;
}

std::span<const ImportRule> CompressImports() {
  static constexpr ImportRule kSelectRules[] = {{.op_type = "Compress", .since = 9}};
  return kSelectRules;
}

std::span<const ImportRule> ReverseSequenceImports() {
  static constexpr ImportRule kSelectRules[] = {{.op_type = "ReverseSequence", .since = 10}};
  return kSelectRules;
}

std::span<const ImportRule> TensorScatterImports() {
  static constexpr ImportRule kSelectRules[] = {{.op_type = "TensorScatter", .since = 24}};
  return kSelectRules;
}

}  // namespace fettle::ops
