// Tokens per second.
#pragma once

#include <cstdint>

#include "report/report.h"

namespace fettle::tools {

inline double TokensPerSecond(int64_t tokens, double ms) {
  return ms > 0 ? static_cast<double>(tokens) * 1000 / ms : 0;
}

inline Json RateJson(int64_t tokens, double ms) {
  return {{"tokens", tokens}, {"ms", ms}, {"tokens_per_s", TokensPerSecond(tokens, ms)}};
}

}  // namespace fettle::tools
