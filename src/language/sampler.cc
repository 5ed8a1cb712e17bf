#include "language/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fettle::language {

int32_t Sampler::Next(std::span<const float> logits) {
  // NaN is less than everything; of equal logits the first is greater.
  const auto greater = [&](int32_t a, int32_t b) {
    const float x = logits[a], y = logits[b];
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) || (std::isnan(y) && a < b);
    return x != y ? x > y : a < b;
  };
  order_.resize(logits.size());
  std::iota(order_.begin(), order_.end(), 0);
  if (options_.temperature <= 0) return *std::min_element(order_.begin(), order_.end(), greater);
  const int64_t kept = options_.top_k > 0 ? std::min<int64_t>(options_.top_k, std::ssize(logits))
                                          : std::ssize(logits);
  std::partial_sort(order_.begin(), order_.begin() + kept, order_.end(), greater);
  order_.resize(kept);
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
