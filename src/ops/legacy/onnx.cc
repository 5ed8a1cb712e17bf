// Import rules of operators that ONNX removed at opset 7 to 10 but that old models still hold. Each
// becomes plain arithmetic, so none has a row of its own.
#include <cstdint>
#include <limits>

#include "ops/import.h"

namespace fettle::ops {
namespace {

ir::ValueId Scalar(ImportContext& context, double value) {
  return context.ConstScalar(DType::kF32, value);
}

/// x * scale + bias[c] for an NCHW picture.
Status ImportImageScaler(ImportContext& context) {
  const std::vector<double> bias = context.attributes().Floats("bias");
  const std::vector<float> values(bias.begin(), bias.end());
  const Shape per_channel{static_cast<int64_t>(values.size()), 1, 1};
  ASSIGN_OR_RETURN(const Tensor tensor, Tensor::FromVector(per_channel, values));
  const double scale = context.attributes().Float("scale", 1);
  ir::ValueId y = context.input(0);
  if (scale != 1) y = context.Emit1("Mul", {y, Scalar(context, scale)});
  context.Bind(0, context.Emit1("Add", {y, context.Const(Constant::FromTensor(tensor))}));
  return OkStatus();
}

/// alpha * x + beta.
Status ImportAffine(ImportContext& context) {
  const double alpha = context.attributes().Float("alpha", 1);
  const double beta = context.attributes().Float("beta", 0);
  ir::ValueId y = context.Emit1("Mul", {context.input(0), Scalar(context, alpha)});
  if (beta != 0) y = context.Emit1("Add", {y, Scalar(context, beta)});
  context.Bind(0, y);
  return OkStatus();
}

Status ImportScale(ImportContext& context) {
  const double scale = context.attributes().Float("scale", 1);
  context.Bind(0, context.Emit1("Mul", {context.input(0), Scalar(context, scale)}));
  return OkStatus();
}

/// alpha * log(exp(beta * x) + 1).
Status ImportParametricSoftplus(ImportContext& context) {
  const double alpha = context.attributes().Float("alpha", 1);
  const double beta = context.attributes().Float("beta", 1);
  const ir::ValueId x = context.Emit1("Mul", {context.input(0), Scalar(context, beta)});
  const ir::ValueId y = context.Emit1("Softplus", {x});
  context.Bind(0, context.Emit1("Mul", {y, Scalar(context, alpha)}));
  return OkStatus();
}

/// Cuts `border` = left, top, right, bottom off the last two axes; with `scale`, keeps that many
/// rows and columns from the left top corner on.
Status ImportCrop(ImportContext& context) {
  const std::vector<int64_t> border = context.attributes().Ints("border", {0, 0, 0, 0});
  const std::vector<int64_t> scale = context.attributes().Ints("scale");
  if (border.size() != 4)
    return InvalidModel("attribute 'border': expected 4 values, got {}", border.size());
  if (!scale.empty() && scale.size() != 2)
    return InvalidModel("attribute 'scale': expected 2 values, got {}", scale.size());
  constexpr int64_t kLimit = int64_t{1} << 32;
  for (int64_t value : border) {
    if (value < 0 || value > kLimit)
      return InvalidModel("attribute 'border': {} is out of range", value);
  }
  for (int64_t value : scale) {
    if (value < 0 || value > kLimit)
      return InvalidModel("attribute 'scale': {} is out of range", value);
  }
  const auto end = [](int64_t cut) {
    return cut == 0 ? std::numeric_limits<int64_t>::max() : -cut;
  };
  const std::vector<int64_t> ends =
      scale.empty() ? std::vector<int64_t>{end(border[3]), end(border[2])}
                    : std::vector<int64_t>{border[1] + scale[0], border[0] + scale[1]};
  context.Bind(0,
               context.Emit1("Slice", {context.input(0), context.ConstInts({border[1], border[0]}),
                                       context.ConstInts(ends), context.ConstInts({2, 3})}));
  return OkStatus();
}

constexpr ImportRule kLegacyRules[] = {
    {.op_type = "Affine", .run = ImportAffine},
    {.op_type = "Crop", .run = ImportCrop},
    {.op_type = "ImageScaler", .run = ImportImageScaler},
    {.op_type = "ParametricSoftplus", .run = ImportParametricSoftplus},
    {.op_type = "Scale", .run = ImportScale},
};

}  // namespace

std::span<const ImportRule> LegacyImports() { return kLegacyRules; }

}  // namespace fettle::ops
