#include "language/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace fettle::language {
namespace {

/// Compilers make vectors of the loops over a block.
constexpr size_t kBlock = 128, kSides = 16;

/// Of a whole block; -infinity where all are NaN.
float GreatestOf(const float* block) {
  std::array<float, kSides> most;
  most.fill(-std::numeric_limits<float>::infinity());
  for (size_t i = 0; i < kBlock; i += kSides)
    for (size_t side = 0; side < kSides; ++side)
      most[side] = block[i + side] > most[side] ? block[i + side] : most[side];
  for (size_t half = kSides / 2; half > 0; half /= 2)
    for (size_t side = 0; side < half; ++side)
      most[side] = most[side + half] > most[side] ? most[side + half] : most[side];
  return most[0];
}

/// NaN is less than everything; of equal logits the first is greater.
struct Greater {
  std::span<const float> logits;
  bool operator()(int32_t a, int32_t b) const {
    const float x = logits[a], y = logits[b];
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) || (std::isnan(y) && a < b);
    return x != y ? x > y : a < b;
  }
};

/// The `kept` greatest, the greatest first. Blocks without any greater than the least so far are
/// passed over.
void FindGreatest(std::span<const float> logits, size_t kept, std::vector<int32_t>& order) {
  const Greater greater{logits};
  order.resize(std::min(kept, logits.size()));
  std::iota(order.begin(), order.end(), 0);
  if (kept >= logits.size()) return std::sort(order.begin(), order.end(), greater);
  std::make_heap(order.begin(), order.end(), greater);  // the least first
  for (size_t begin = order.size(); begin < logits.size();) {
    const bool is_whole = begin + kBlock <= logits.size();
    // What comes later is less where it is equal.
    if (is_whole && GreatestOf(&logits[begin]) <= logits[order[0]]) {
      begin += kBlock;
      continue;
    }
    const size_t end = std::min(begin + kBlock, logits.size());
    for (; begin < end; ++begin) {
      if (!greater(static_cast<int32_t>(begin), order[0])) continue;
      std::pop_heap(order.begin(), order.end(), greater);
      order.back() = static_cast<int32_t>(begin);
      std::push_heap(order.begin(), order.end(), greater);
    }
  }
  std::sort_heap(order.begin(), order.end(), greater);
}

}  // namespace

int32_t Sampler::Next(std::span<const float> logits) {
  const bool takes_greatest = options_.temperature <= 0;
  const size_t kept = takes_greatest       ? 1
                      : options_.top_k > 0 ? static_cast<size_t>(options_.top_k)
                                           : logits.size();
  FindGreatest(logits, kept, order_);
  if (takes_greatest) return order_[0];
  weights_.clear();
  double sum = 0;
  for (int32_t token : order_) {
    const double weight =
        std::exp((double{logits[token]} - logits[order_[0]]) / options_.temperature);
    weights_.push_back(std::isnan(weight) ? 0 : weight);
    sum += weights_.back();
  }
  double limit = 0;
  size_t count = 0;
  while (count < weights_.size() && (count == 0 || limit < options_.top_p * sum))
    limit += weights_[count++];
  double rest = static_cast<double>(random_() >> 11) * 0x1p-53 * limit;
  for (size_t i = 0; i < count; ++i) {
    rest -= weights_[i];
    if (rest < 0) return order_[i];
  }
  return order_[0];
}

}  // namespace fettle::language
