// compiled: small
#include "kernels/cpu/recurrent/byte_weights.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/quantised_matmul/panel.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

/// `count` weights as whole numbers of `step`; adds 128 times each to `sum`. False where one is no
/// i8.
bool WholeSteps(const float* weights, int64_t count, float step, int8_t* out, int32_t& sum) {
  for (int64_t k = 0; k < count; ++k) {
    const float whole = std::nearbyint(weights[k] / step);
    if (!(whole >= -128 && whole <= 127 && std::fabs(weights[k] - whole * step) <= step * 0.01F))
      return false;
    out[k] = static_cast<int8_t>(whole);
    sum += 128 * out[k];
  }
  return true;
}

/// `words` have room for a wide panel where bytes of one are kept.
void PackPanel(const QuantKernels& kernels, const ByteMatrix& part, std::vector<int16_t>& words,
               std::byte* out) {
  if (kernels.narrow) {
    PackWideSteps(part, true, 0, kernels.nr, words.data());
    std::copy(words.begin(), words.end(), reinterpret_cast<int8_t*>(out));
  } else if (kernels.wide) {
    PackWideSteps(part, true, 0, kernels.nr, reinterpret_cast<int16_t*>(out));
  } else {
    PackByteSteps(part, 0, kernels.nr, reinterpret_cast<uint8_t*>(out));
  }
}

}  // namespace

int64_t ByteWeights::panels() const { return CeilDiv(gates_, kernels_->nr); }

int64_t ByteWeights::steps(int64_t depth) const { return CeilDiv(depth, kernels_->wide ? 2 : 4); }

PackRequest ByteWeights::Pack(const ir::Node& node) const {
  PackRequest request;
  for (size_t i :
       {kRecurrentW, kRecurrentR, kRecurrentInputSteps, kRecurrentStateSteps, kRecurrentB}) {
    if (node.input(i) != ir::kAbsent) request.constants.push_back(node.input(i));
  }
  request.recipe = fmt::format("{}.gates.{}", node.op, kernels_->name);
  request.bytes = directions_ * DirectionBytes();
  request.pack = [*this](std::span<const Constant* const> constants, std::byte* out) {
    const Constant* bias = constants.size() > 4 ? constants[4] : nullptr;
    for (int64_t d = 0; d < directions_; ++d) {
      std::byte* const to = out + d * DirectionBytes();
      RETURN_IF_ERROR(PackSide(*constants[0], *constants[2], bias, d, false, to));
      RETURN_IF_ERROR(
          PackSide(*constants[1], *constants[3], bias, d, true, to + SideBytes(input_)));
    }
    return OkStatus();
  };
  return request;
}

ByteSide ByteWeights::Side(const std::byte* packed, int64_t depth, int64_t offset) const {
  const std::byte* const columns = packed + offset + PanelBytes(depth);
  ByteSide side{.depth = depth, .panels = packed + offset};
  side.steps = reinterpret_cast<const float*>(columns);
  side.excess = reinterpret_cast<const int32_t*>(columns) + Columns();
  side.bias = side.steps + 2 * Columns();
  return side;
}

Status ByteWeights::PackSide(const Constant& weights, const Constant& steps, const Constant* bias,
                             int64_t direction, bool is_state, std::byte* out) const {
  const int64_t depth = is_state ? hidden_ : input_, gates = gates_;
  auto* const step = reinterpret_cast<float*>(out + PanelBytes(depth));
  auto* const excess = reinterpret_cast<int32_t*>(step + Columns());
  float* const all_bias = step + 2 * Columns();
  std::fill_n(step, 3 * Columns(), 0.0F);
  if (steps.elements() == directions_) {
    ReadFloats(steps, direction, 1, step);
    std::fill_n(step, gates, step[0]);
  } else {
    ReadFloats(steps, direction * gates, gates, step);
  }
  std::vector<float> row(std::max(depth * gates, gates));
  std::vector<int8_t> bytes(depth * gates);
  if (bias != nullptr && !is_state) {
    ReadFloats(*bias, direction * 2 * gates, gates, all_bias);
    ReadFloats(*bias, direction * 2 * gates + gates, gates, row.data());
    for (int64_t n = 0; n < gates; ++n) all_bias[n] += row[n];
  }
  ReadFloats(weights, direction * depth * gates, depth * gates, row.data());
  for (int64_t n = 0; n < gates; ++n) {
    if (!WholeSteps(row.data() + n * depth, depth, step[n], bytes.data() + n * depth, excess[n]))
      return InvalidModel("weights of an LSTM are not whole multiples of their scale");
  }
  const int nr = kernels_->nr;
  const int64_t elements = this->steps(depth) * nr * 2;  // of a wide panel
  std::vector<int16_t> words(kernels_->narrow ? elements : 0);
  for (int64_t column = 0; column < gates; column += nr, out += elements / 2 * step_bytes()) {
    const ByteMatrix part{reinterpret_cast<const uint8_t*>(bytes.data()) + column * depth, depth,
                          std::min<int64_t>(nr, gates - column), 1, depth};
    PackPanel(*kernels_, part, words, out);
  }
  return OkStatus();
}

}  // namespace fettle::kernels
