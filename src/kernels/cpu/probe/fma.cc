#include "kernels/cpu/probe/fma.h"

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/probe/fma.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Ten chains hide the latency of two pipes at up to five cycles. Returns the operations done.
double RunFma(int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto m = hn::Set(d, 0.999F), a = hn::Set(d, 0.001F);
  // Distinct values: equal chains would be merged into one.
  const auto start = [&](int i) HWY_ATTR { return hn::Set(d, 0.125F * static_cast<float>(i)); };
  auto x0 = start(0), x1 = start(1), x2 = start(2), x3 = start(3), x4 = start(4);
  auto x5 = start(5), x6 = start(6), x7 = start(7), x8 = start(8), x9 = start(9);
  for (int64_t i = 0; i < rounds; ++i) {
    x0 = hn::MulAdd(x0, m, a);
    x1 = hn::MulAdd(x1, m, a);
    x2 = hn::MulAdd(x2, m, a);
    x3 = hn::MulAdd(x3, m, a);
    x4 = hn::MulAdd(x4, m, a);
    x5 = hn::MulAdd(x5, m, a);
    x6 = hn::MulAdd(x6, m, a);
    x7 = hn::MulAdd(x7, m, a);
    x8 = hn::MulAdd(x8, m, a);
    x9 = hn::MulAdd(x9, m, a);
  }
  const auto sum = hn::Add(hn::Add(hn::Add(x0, x1), hn::Add(x2, x3)),
                           hn::Add(hn::Add(hn::Add(x4, x5), hn::Add(x6, x7)), hn::Add(x8, x9)));
  hn::StoreU(sum, d, sink);
  return static_cast<double>(rounds) * 10 * 2 * static_cast<double>(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RunFma);

double ProbeFmaFlops(double milliseconds) {
  ApplyIsaCap();
  constexpr int64_t kRounds = 20000;  // about 50 microseconds
  float sink[64];                     // one vector of any target
  double best = 0;
  const int64_t until = NowNs() + static_cast<int64_t>(milliseconds * 1e6);
  do {
    const int64_t start = NowNs();
    const double operations = HWY_DYNAMIC_DISPATCH(RunFma)(kRounds, sink);
    best = std::max(best,
                    operations / static_cast<double>(std::max<int64_t>(1, NowNs() - start)) * 1e9);
  } while (NowNs() < until);
  return best;
}

}  // namespace fettle::kernels
#endif
