// Import rules of spectra: types become names, DFT-17's axis an operand.
#include "ops/import.h"
#include "ops/onnx_types.h"

namespace fettle::ops {
namespace {

Status ImportTyped(ImportContext& context) {
  ir::Attributes attributes = context.attributes();
  ASSIGN_OR_RETURN(const DType dtype, DTypeFromOnnx(attributes.Int("output_datatype", 1)));
  attributes.Erase("output_datatype");
  attributes.Set("to", std::string(DTypeName(dtype)));
  context.Copy(context.node().op_type, attributes);
  return OkStatus();
}

Status ImportDft17(ImportContext& context) {
  ir::Attributes attributes = context.attributes();
  const int64_t axis = attributes.Int("axis", 1);
  attributes.Erase("axis");
  context.Bind(0,
               context.Emit1("DFT", {context.input(0), context.input(1), context.ConstInts({axis})},
                             attributes));
  return OkStatus();
}

constexpr ImportRule kDft[] = {
    {.op_type = "DFT", .since = 17, .until = 19, .run = ImportDft17},
    {.op_type = "DFT", .since = 20},
};
constexpr ImportRule kStft[] = {{.op_type = "STFT", .since = 17}};
constexpr ImportRule kMel[] = {{.op_type = "MelWeightMatrix", .since = 17, .run = ImportTyped}};
constexpr ImportRule kBlackman[] = {{.op_type = "BlackmanWindow", .since = 17, .run = ImportTyped}};
constexpr ImportRule kHamming[] = {{.op_type = "HammingWindow", .since = 17, .run = ImportTyped}};
constexpr ImportRule kHann[] = {{.op_type = "HannWindow", .since = 17, .run = ImportTyped}};

}  // namespace

std::span<const ImportRule> DftImports() { return kDft; }
std::span<const ImportRule> StftImports() { return kStft; }
std::span<const ImportRule> MelWeightMatrixImports() { return kMel; }
std::span<const ImportRule> BlackmanWindowImports() { return kBlackman; }
std::span<const ImportRule> HammingWindowImports() { return kHamming; }
std::span<const ImportRule> HannWindowImports() { return kHann; }

}  // namespace fettle::ops
