// The choice of the next token from its logits.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace fettle::language {

struct SamplerOptions {
  double temperature = 0;  // 0: always the largest logit
  int64_t top_k = 40;      // of the largest logits alone; 0: all
  double top_p = 0.95;     // of the fewest tokens whose probabilities pass it; 1: all
  uint64_t seed = 0;
};

/// Equal seeds and logits give equal tokens. Belongs to one thread.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}
  /// Tokens are indices of `logits`, which are not empty; NaN is never chosen unless all are.
  int32_t Next(std::span<const float> logits);

 private:
  SamplerOptions options_;
  std::mt19937_64 random_;
  std::vector<int32_t> order_;
  std::vector<double> weights_;
};

}  // namespace fettle::language
