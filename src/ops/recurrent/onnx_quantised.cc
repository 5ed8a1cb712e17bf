// com.microsoft.DynamicQuantizeLSTM: an LSTM whose constant weights are bytes. What ONNX Runtime
// rounds to bytes at each step is not rounded here, or to 16 bits.
#include <algorithm>
#include <cmath>

#include "ops/import.h"
#include "ops/recurrent/onnx.h"
#include "tensor/read_floats.h"

namespace fettle::ops {
namespace {

/// Weights [directions, columns, rows] of bytes as floats [directions, rows, columns]; scales and
/// zero points, at inputs `scale` and `scale` + 1, are of each direction, or of its rows.
Result<ir::ValueId> FloatWeights(ImportContext& context, size_t weights, size_t scale) {
  const std::optional<int> rank = context.rank(scale);
  if (!rank || !context.has_input(weights))
    return Unsupported("weights and their scales must be constants");
  if (*rank != 1 && *rank != 2) return InvalidModel("scales of rank {}", *rank);
  const ir::ValueId axes =
      context.ConstInts(*rank == 1 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1});
  const auto floats = [&](size_t i) {
    return context.Emit1("Cast", {context.input(i)}, {{"to", std::string("f32")}});
  };
  ir::ValueId x = floats(weights);
  if (context.has_input(scale + 1))
    x = context.Emit1("Sub", {x, context.Emit1("Unsqueeze", {floats(scale + 1), axes})});
  x = context.Emit1("Mul", {x, context.Emit1("Unsqueeze", {context.input(scale), axes})});
  return context.Emit1("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
}

bool All(const Constant& constant, bool (*is_so)(float)) {
  std::vector<float> values(constant.elements());
  ReadFloats(constant, 0, constant.elements(), values.data());
  return std::all_of(values.begin(), values.end(), is_so);
}

/// Whether weights less their zero points are i8, and their scales positive numbers.
bool AreBytes(ImportContext& context, size_t weights, size_t scale) {
  const Constant *w = context.constant(weights), *s = context.constant(scale);
  if (w == nullptr || s == nullptr || s->dtype() != DType::kF32) return false;
  if (!All(*s, [](float x) { return x > 0 && std::isfinite(x); })) return false;
  const bool is_signed = w->dtype() == DType::kI8;
  if (!context.has_input(scale + 1)) return is_signed;
  const Constant* zeros = context.constant(scale + 1);
  return zeros != nullptr &&
         All(
             *zeros, is_signed ? [](float x) { return x == 0; } : [](float x) { return x == 128; });
}

}  // namespace

/// Inputs X, W, R, B, sequence_lens, initial_h, initial_c, P, then scale and zero point of W and R.
Status ImportDynamicQuantizeLstm(ImportContext& context) {
  std::vector<ir::ValueId> inputs;
  for (size_t i = 0; i < 8; ++i) inputs.push_back(context.input(i));
  ASSIGN_OR_RETURN(inputs[1], FloatWeights(context, 1, 8));
  ASSIGN_OR_RETURN(inputs[2], FloatWeights(context, 2, 10));
  if (AreBytes(context, 1, 8) && AreBytes(context, 2, 10))
    inputs.insert(inputs.end(), {context.input(8), context.input(10)});
  const std::vector<ir::ValueId> outputs =
      context.Emit("LSTM", std::move(inputs), context.attributes(), context.num_outputs());
  for (size_t i = 0; i < outputs.size(); ++i) context.Bind(i, outputs[i]);
  return OkStatus();
}

}  // namespace fettle::ops
