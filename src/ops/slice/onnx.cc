#include "ops/import.h"

namespace fettle::ops {
namespace {

/// Slice below opset 10: everything is an attribute.
Status ImportSliceAttributes(ImportContext& context) {
  const ir::Attributes& attributes = context.attributes();
  std::vector<ir::ValueId> inputs = {context.input(0), context.ConstInts(attributes.Ints("starts")),
                                     context.ConstInts(attributes.Ints("ends"))};
  if (attributes.Has("axes")) inputs.push_back(context.ConstInts(attributes.Ints("axes")));
  context.Bind(0, context.Emit1("Slice", inputs));
  return OkStatus();
}

}  // namespace

std::span<const ImportRule> SliceImports() {
  static constexpr ImportRule kSliceRules[] = {
      {.op_type = "Slice", .until = 9, .run = ImportSliceAttributes},
      {.op_type = "Slice", .since = 10},
  };
  return kSliceRules;
}

}  // namespace fettle::ops
