#include "kernels/cpu/binary/pack_weights.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

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
  panel.scale[at] = static_cast<float>(product.x_zero == 0 ? panel.w_ones[at] : panel.pairs[at]);
}

/// What one output's results are made of. A scale below 0 would make a zero negative.
FloatForm FormOfOutput(const ops::BinaryProduct& product, const FloatPanel& panel, int at) {
  const bool may_scale = panel.scale[at] > 0 && panel.bias[at] == 0 &&
                         product.taps() * product.channels < (int64_t{1} << 24);
  const double scale = panel.scale[at];
  // x is 0 or u, weights -w or w: ones of the weights, less what differs.
  if (may_scale && panel.x_ones[at] == 0 && panel.pairs[at] == 0 && panel.w_ones[at] == scale &&
      panel.differ[at] == -scale)
    return FloatForm::kOnes;
  if (panel.x_ones[at] != 0 || panel.w_ones[at] != 0) return FloatForm::kAny;
  const bool is_scaled =
      may_scale && panel.pairs[at] == scale && panel.differ[at] == -2 * panel.pairs[at];
  return is_scaled ? FloatForm::kScaled : FloatForm::kPlain;
}

/// Weights of output `at` of a panel; nothing behind a group's last one.
std::optional<int64_t> OutputOf(const ops::BinaryProduct& product, const BitBlob& blob,
                                int64_t panel, int at) {
  const int64_t outputs = product.outputs / product.groups;
  const int64_t in_group = panel % blob.panels * kBitOutputs + at;
  if (in_group >= outputs) return std::nullopt;
  return panel / blob.panels * outputs + in_group;
}

/// Ones of the weights of tap `t` of an output.
int32_t OnesOfTap(const ops::BinaryProduct& product, const BitBlob& blob, const Tensor& bits,
                  int64_t output, int64_t t) {
  const uint64_t* words = bits.as<uint64_t>().data() + (output * blob.taps + t) * blob.words;
  int32_t ones = 0;
  for (int64_t i = 0; i < blob.words; ++i)
    ones += std::popcount(words[i] & ops::WordMask(product.channels, i));
  return ones;
}

/// Of several forms the one that gives all results.
FloatForm Common(FloatForm a, FloatForm b) {
  if (a == b) return a;
  return a == FloatForm::kOnes || b == FloatForm::kOnes ? FloatForm::kAny : std::min(a, b);
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
  auto* scales = reinterpret_cast<float*>(out + blob.scales_offset());
  for (int64_t panel = 0; panel < blob.all_panels; ++panel) {
    std::byte* end = out + blob.results_offset() + panel * blob.panel_bytes;
    auto* limits = reinterpret_cast<LimitPanel*>(end);
    for (int at = 0; at < kBitOutputs; ++at) {
      if (to_bits) limits->low[at] = 1;  // above `high`: never a one
      const std::optional<int64_t> found = OutputOf(product, blob, panel, at);
      if (!found) continue;
      const int64_t output = *found;
      for (int64_t i = 0; i < blob.taps * blob.words; ++i) {
        const uint64_t word = bits.as<uint64_t>()[output * blob.taps * blob.words + i] &
                              ops::WordMask(product.channels, i % blob.words);
        words[panel * blob.panel_words() + i * kBitOutputs + at] = word;
        ones[panel * kBitOutputs + at] += std::popcount(word);
      }
      if (to_bits) {
        limits->low[at] = static_cast<int32_t>(results.GetInt(output));
        limits->high[at] = static_cast<int32_t>(results.GetInt(product.outputs + output));
      } else {
        auto& floats = *reinterpret_cast<FloatPanel*>(end);
        SetFactors(product, results, output, at, floats);
        scales[panel * kBitOutputs + at] = floats.scale[at];
      }
    }
  }
  return OkStatus();
}

FloatForm FormOf(const ops::BinaryProduct& product, const Constant& results) {
  std::optional<FloatForm> form;
  for (int64_t output = 0; output < product.outputs; ++output) {
    FloatPanel panel = {};
    SetFactors(product, results, output, 0, panel);
    const FloatForm one = FormOfOutput(product, panel, 0);
    form = form ? Common(*form, one) : one;
  }
  return form.value_or(FloatForm::kAny);
}

int64_t BorderBytes(const BitBlob& blob, const BitGeometry& geometry) {
  return geometry.classes() * blob.all_panels * kBitOutputs * 4;
}

Status PackBorder(const ops::BinaryProduct& product, const BitGeometry& geometry, const Constant& w,
                  bool in_spans, std::byte* out) {
  const BitBlob blob(product, false);
  ASSIGN_OR_RETURN(const Tensor bits, w.ToTensor());
  auto* border = reinterpret_cast<int32_t*>(out);
  std::memset(out, 0, BorderBytes(blob, geometry));
  std::vector<int32_t> ones(blob.taps);
  std::vector<std::vector<int32_t>> outside;
  for (int64_t c = 0; c < geometry.classes(); ++c) outside.push_back(geometry.Outside(c, in_spans));
  for (int64_t panel = 0; panel < blob.all_panels; ++panel) {
    for (int at = 0; at < kBitOutputs; ++at) {
      const std::optional<int64_t> output = OutputOf(product, blob, panel, at);
      if (!output) continue;
      for (int64_t t = 0; t < blob.taps; ++t) ones[t] = OnesOfTap(product, blob, bits, *output, t);
      for (int64_t c = 0; c < geometry.classes(); ++c) {
        int32_t& sum = border[(c * blob.all_panels + panel) * kBitOutputs + at];
        for (int32_t t : outside[c]) sum += ones[t];
      }
    }
  }
  return OkStatus();
}

Status PackStarts(const ops::BinaryProduct& product, const BitGeometry& geometry, const Constant& w,
                  FloatForm form, bool in_spans, std::byte* out) {
  const BitBlob blob(product, false);
  ASSIGN_OR_RETURN(const Tensor bits, w.ToTensor());
  RETURN_IF_ERROR(PackBorder(product, geometry, w, in_spans, out));
  const int64_t columns = blob.all_panels * kBitOutputs;
  auto* starts = reinterpret_cast<int32_t*>(out);
  for (int64_t i = 0; i < columns; ++i) {
    int32_t ones = 0;  // of all taps; the border's part cancels out
    const auto output = OutputOf(product, blob, i / kBitOutputs, static_cast<int>(i % kBitOutputs));
    for (int64_t t = 0; output && t < blob.taps; ++t)
      ones += OnesOfTap(product, blob, bits, *output, t);
    for (int64_t c = 0; c < geometry.classes(); ++c) {
      const auto pairs = static_cast<int32_t>(geometry.inside()[c] * product.channels);
      int32_t& start = starts[c * columns + i];
      start = form == FloatForm::kOnes ? ones : pairs + 2 * start;
    }
  }
  return OkStatus();
}

bool HasUnitScales(const ops::BinaryProduct& product, const Constant& results) {
  for (int64_t output = 0; output < product.outputs; ++output) {
    FloatPanel panel = {};
    SetFactors(product, results, output, 0, panel);
    if (panel.scale[0] != 1.0f) return false;
  }
  return true;
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
