// compiled: small
#include "kernels/cpu/binary/sign_codes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/hash.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// -1, 0 or 1 for each element.
class SignsOf final : public ConstantSource {
 public:
  explicit SignsOf(Constant w) : w_(std::move(w)) {}

  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    constexpr int64_t kPiece = 1024;
    std::array<float, kPiece> piece;
    auto* codes = reinterpret_cast<int8_t*>(out);
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t length = std::min(kPiece, count - i);
      w_.CopyTo(begin + i, length, reinterpret_cast<std::byte*>(piece.data()));
      for (int64_t j = 0; j < length; ++j)
        codes[i + j] = static_cast<int8_t>((piece[j] > 0 ? 1 : 0) - (piece[j] < 0 ? 1 : 0));
    }
  }
  uint64_t Hash() const override {
    constexpr std::array<char, 5> kForm = {'s', 'i', 'g', 'n', 's'};
    return HashBytes(std::as_bytes(std::span(kForm)), w_.Hash());
  }
  std::span<const std::byte> raw_bytes() const override { return w_.raw_bytes(); }

 private:
  Constant w_;
};

/// Whether output channels are the first axis of the weights.
bool HasOutputsFirst(const ir::Node& core) {
  return core.op == "Conv"_op || (core.op == "Gemm"_op && core.attributes.Int("transB") != 0);
}

}  // namespace

Result<SignCodes> MakeSignCodes(const Constant& w, const WeightOrder& order) {
  RETURN_IF_ERROR(CheckPairs(w, order));
  ASSIGN_OR_RETURN(const auto pairs, ReadPairs(w, order));
  std::vector<float> steps;
  for (const auto& [low, high] : pairs) {
    if (low != high && low != -high && low != 0 && high != 0)
      return Unsupported("two values: neither is 0, and they are not each other's negative");
    const float step = std::max(std::fabs(low), std::fabs(high));
    steps.push_back(step > 0 ? step : 1);
  }
  ASSIGN_OR_RETURN(const Tensor list, Tensor::FromVector(Shape{std::ssize(steps)}, steps));
  return SignCodes{Constant::Generated(DType::kI8, w.shape(), std::make_shared<SignsOf>(w)),
                   Constant::FromTensor(list)};
}

Result<SpelledProduct> SpellWeights(const ir::Graph& group, const ir::Node& core) {
  SpelledProduct spelled{.weights = core.input(1)};
  const ir::Value& w = group.value(spelled.weights);
  if (w.constant == nullptr || w.shape->rank() < 2)
    return Unsupported("weights that are not constant");
  const bool outputs_first = HasOutputsFirst(core);
  const int axis = outputs_first ? 0 : w.shape->rank() - 1;
  const int64_t outputs = (*w.shape)[axis];
  if (outputs == 0 || w.shape->elements() == 0) return Unsupported("nothing to add");
  spelled.order = {.outputs = outputs,
                   .channels = w.shape->elements() / outputs,
                   .channels_first = !outputs_first};
  ASSIGN_OR_RETURN(SignCodes made, MakeSignCodes(*w.constant, spelled.order));

  auto copy = std::make_shared<ir::Graph>();
  for (const ir::Value& value : group.values()) copy->AddValue(value);
  spelled.codes = copy->AddConstant("", std::move(made.codes));
  spelled.steps = copy->AddConstant("", std::move(made.steps));
  const ir::ValueId floats = copy->AddValue({.dtype = DType::kF32, .shape = w.shape});
  ir::Node dequantised{.op = "DequantizeLinear"_op};
  dequantised.attributes.Set("axis", static_cast<int64_t>(axis));
  dequantised.inputs = {spelled.codes, spelled.steps};
  dequantised.outputs = {floats};
  copy->AddNode(std::move(dequantised));
  for (const ir::Node& node : group.nodes()) {
    ir::Node same = node;
    if (&node == &core) same.inputs[1] = floats;
    copy->AddNode(std::move(same));
  }
  copy->inputs = group.inputs;
  copy->outputs = group.outputs;
  spelled.group = std::move(copy);
  return spelled;
}

}  // namespace fettle::kernels
