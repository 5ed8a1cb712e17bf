#include "kernels/cpu/binary/pack_weights.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fettle::kernels {
namespace {

/// Of one output: the sum of products is
/// both * dx * dw + x_ones * dx * w_zero + w_ones * x_zero * dw + pairs * x_zero * w_zero,
/// and both = (x_ones + w_ones - differ) / 2.
void SetFactors(const ops::BinaryProduct& product, const Constant& results, int64_t output, int at,
                FloatPanel& panel) {
  const double w_zero = results.GetDouble(output);
  const double w_one = results.GetDouble(product.outputs + output);
  const double dx = product.x_one - product.x_zero, dw = w_one - w_zero;
  panel.differ[at] = -dx * dw / 2;
  panel.x_ones[at] = dx * dw / 2 + dx * w_zero;
  panel.w_ones[at] = dx * dw / 2 + product.x_zero * dw;
  panel.pairs[at] = product.x_zero * w_zero;
  panel.bias[at] = results.GetDouble(2 * product.outputs + output);
  panel.scale[at] = static_cast<float>(panel.pairs[at]);
}

/// What one output's results are made of. A scale below 0 would make a zero negative.
FloatForm FormOf(const ops::BinaryProduct& product, const FloatPanel& panel, int at) {
  if (panel.x_ones[at] != 0 || panel.w_ones[at] != 0) return FloatForm::kAny;
  const bool is_scaled = panel.scale[at] > 0 && panel.scale[at] == panel.pairs[at] &&
                         panel.differ[at] == -2 * panel.pairs[at] && panel.bias[at] == 0 &&
                         product.taps() * product.channels < (int64_t{1} << 24);
  return is_scaled ? FloatForm::kScaled : FloatForm::kPlain;
}

}  // namespace

BitBlob::BitBlob(const ops::BinaryProduct& product, bool to_bits)
    : panels((product.outputs / product.groups + kBitOutputs - 1) / kBitOutputs),
      all_panels(product.groups * panels),
      taps(product.taps()),
      words(product.words()),
      panel_bytes(to_bits ? sizeof(LimitPanel) : sizeof(FloatPanel)) {}

Status PackBitWeights(const ops::BinaryProduct& product, const Constant& w, const Constant& results,
                      std::byte* out) {
  const bool to_bits = results.dtype() == DType::kI32;
  const BitBlob blob(product, to_bits);
  ASSIGN_OR_RETURN(const Tensor bits, w.ToTensor());
  std::memset(out, 0, blob.bytes());
  auto* words = reinterpret_cast<uint64_t*>(out);
  auto* ones = reinterpret_cast<int32_t*>(out + blob.ones_offset());
  const int64_t outputs = product.outputs / product.groups;
  FloatForm form = product.x_unipolar || product.w_unipolar ? FloatForm::kAny : FloatForm::kScaled;
  for (int64_t panel = 0; panel < blob.all_panels; ++panel) {
    std::byte* end = out + blob.results_offset() + panel * blob.panel_bytes;
    auto* limits = reinterpret_cast<LimitPanel*>(end);
    for (int at = 0; at < kBitOutputs; ++at) {
      if (to_bits) limits->low[at] = 1;  // above `high`: never a one
      const int64_t in_group = panel % blob.panels * kBitOutputs + at;
      if (in_group >= outputs) continue;
      const int64_t output = panel / blob.panels * outputs + in_group;
      int32_t* tap_ones = ones + panel * (blob.taps + 1) * kBitOutputs + at;
      for (int64_t t = 0; t < blob.taps; ++t) {
        for (int64_t i = 0; i < blob.words; ++i) {
          const uint64_t word = bits.as<uint64_t>()[(output * blob.taps + t) * blob.words + i] &
                                ops::WordMask(product.channels, i);
          words[panel * blob.panel_words() + (t * blob.words + i) * kBitOutputs + at] = word;
          tap_ones[t * kBitOutputs] += std::popcount(word);
        }
        tap_ones[blob.taps * kBitOutputs] += tap_ones[t * kBitOutputs];
      }
      if (to_bits) {
        limits->low[at] = static_cast<int32_t>(results.GetInt(output));
        limits->high[at] = static_cast<int32_t>(results.GetInt(product.outputs + output));
      } else {
        auto& floats = *reinterpret_cast<FloatPanel*>(end);
        SetFactors(product, results, output, at, floats);
        form = std::min(form, FormOf(product, floats, at));
      }
    }
  }
  *reinterpret_cast<FloatForm*>(out + blob.form_offset()) = form;
  return OkStatus();
}

LimitFactors FactorsOf(const ops::BinaryProduct& product) {
  if (!product.x_unipolar && !product.w_unipolar) return {};
  LimitFactors factors{.differ = -1, .x_ones = 0, .w_ones = 0, .pairs = 0, .shift = 0};
  if (product.w_unipolar) factors.x_ones = 1;
  if (product.x_unipolar) factors.w_ones = 1;
  if (product.w_unipolar && product.x_unipolar) factors.shift = 1;
  return factors;
}

}  // namespace fettle::kernels
