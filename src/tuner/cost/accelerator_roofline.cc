#include "tuner/cost/accelerator_roofline.h"

#include <algorithm>

namespace fettle::tuner {
namespace {

constexpr double kAcceleratorSlack = 1.25;

/// 0 where it is not known.
double ValueOf(const Ceilings& ceilings, std::string_view name) {
  const auto found = ceilings.find(name);
  return found == ceilings.end() ? 0 : found->second;
}

double ArithmeticRateOf(std::string_view name, const Ceilings& ceilings) {
  const double measured = ValueOf(ceilings, name);
  return measured > 0 ? measured : ValueOf(ceilings, "fp32 fma") * UnmeasuredFactor(name);
}

}  // namespace

Limit LimitOf(const kernels::Work& work, const Ceilings& ceilings) {
  const double near = ValueOf(ceilings, "cached read"), far = ValueOf(ceilings, "global read");
  const double rate = ArithmeticRateOf(work.ceiling, ceilings), read = std::max(near, far);
  if (rate <= 0 || read <= 0) return {};
  const double arithmetic = work.operations / rate, traffic = work.bytes / read;
  const double cold = far > 0 ? work.bytes / far : traffic;
  return {.us = std::max(arithmetic, traffic) * 1e6,
          .by = std::string(arithmetic > traffic ? work.ceiling
                            : near >= far        ? "cached read"
                                                 : "global read"),
          .cold_us = std::max({arithmetic, traffic, cold}) * 1e6};
}

double LeastMicroseconds(const kernels::Work& work, const Ceilings& ceilings) {
  return std::max(LimitOf(work, ceilings).us, ValueOf(ceilings, "launch us")) / kAcceleratorSlack;
}

}  // namespace fettle::tuner
