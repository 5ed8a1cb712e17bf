#include "kernels/cpu/binary/weight_bits.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fettle::kernels {

using Pairs = std::vector<std::array<float, 2>>;

namespace {

/// Calls visit(output, depth, weight) for all weights in the order in which they lie until it
/// answers false. A piece at a time: networks without such weights are asked, too, and these may be
/// large.
template <typename Visit>
void VisitWeights(const Constant& w, const WeightOrder& order, Visit visit) {
  constexpr int64_t kPiece = 1024;
  std::array<float, kPiece> piece;
  const int64_t all = order.all_outputs() * order.depth();
  for (int64_t begin = 0; begin < all; begin += kPiece) {
    const int64_t count = std::min(kPiece, all - begin);
    w.CopyTo(begin, count, reinterpret_cast<std::byte*>(piece.data()));
    for (int64_t j = 0; j < count; ++j) {
      const int64_t i = begin + j;
      const int64_t output = order.channels_first ? i % order.outputs : i / order.depth();
      const int64_t term = i % order.depth();
      const int64_t depth = order.channels_first
                                ? i / order.outputs
                                : term % order.taps * order.channels + term / order.taps;
      if (!visit(output, depth, piece[j])) return;
    }
  }
}

}  // namespace

Result<Pairs> ReadPairs(const Constant& w, const WeightOrder& order) {
  Pairs pairs(order.all_outputs(), {NAN, NAN});
  Status status;
  VisitWeights(w, order, [&](int64_t output, int64_t, float value) {
    auto& [low, high] = pairs[output];
    if (std::isnan(low) && std::isfinite(value)) low = high = value;
    if (value == low || value == high) return true;
    if (low == high && std::isfinite(value)) {
      (value < low ? low : high) = value;
      return true;
    }
    status = Unsupported("the weights of output {} have more than two values", output);
    return false;
  });
  if (!status.ok()) return status;
  return pairs;
}

Status CheckPairs(const Constant& w, const WeightOrder& order) {
  if (w.dtype() != DType::kF32 || w.is_splat() || w.elements() == 0)
    return Unsupported("weights that are not stored as f32");
  return ReadPairs(w, order).status();
}

Status PackPairs(const Constant& w, const Constant* addend, const WeightOrder& order, float alpha,
                 float beta, std::byte* out) {
  const WeightBits blob(order);
  ASSIGN_OR_RETURN(const Pairs pairs, ReadPairs(w, order));
  std::memset(out, 0, blob.bytes());
  const auto panel_of = [&](int64_t output) {
    return output / order.outputs * order.panels() + output % order.outputs / kChosenOutputs;
  };
  const auto lane_of = [&](int64_t output) { return output % order.outputs % kChosenOutputs; };
  for (int64_t o = 0; o < order.all_outputs(); ++o) {
    const double low = pairs[o][0], high = pairs[o][1];
    float* numbers =
        reinterpret_cast<float*>(out) + panel_of(o) * WeightBits::kNumbers + lane_of(o);
    numbers[0] = static_cast<float>(alpha * (high - low));
    numbers[kChosenOutputs] = static_cast<float>(alpha * low);
    if (addend == nullptr) continue;
    numbers[2 * kChosenOutputs] =
        static_cast<float>(beta * addend->GetDouble(addend->elements() == 1 ? 0 : o));
  }
  auto* words = reinterpret_cast<uint32_t*>(out + blob.words_at());
  VisitWeights(w, order, [&](int64_t output, int64_t depth, float value) {
    if (value != pairs[output][0])
      words[panel_of(output) * order.depth() + depth] |= uint32_t{1} << lane_of(output);
    return true;
  });
  return OkStatus();
}

}  // namespace fettle::kernels
