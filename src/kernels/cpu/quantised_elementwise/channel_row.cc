#include "kernels/cpu/quantised_elementwise/channel_row.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised_elementwise/channel_row.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::RebindToSigned<F>;
using B = hn::Rebind<uint8_t, F>;
constexpr int64_t kLanes = HWY_LANES(float);

template <bool once>
HWY_INLINE hn::Vec<F> Column(const float* p, int64_t i) {
  if constexpr (once) return hn::Set(F(), *p);
  return hn::LoadU(F(), p + i);
}

template <bool once>
void Run(const ChannelRowArgs& args) {
  const auto x_flip = hn::Set(B(), args.x_flip), y_flip = hn::Set(B(), args.y_flip);
  const auto low = hn::Set(F(), args.low), high = hn::Set(F(), args.high);
  const auto zero = hn::Set(F(), args.zero);
  const auto map = [&](hn::Vec<B> bytes, hn::Vec<F> factor, hn::Vec<F> addend) HWY_ATTR {
    const auto x = hn::ConvertTo(F(), hn::PromoteTo(I(), hn::Xor(bytes, x_flip)));
    const auto y = hn::Round(hn::Min(hn::Max(hn::MulAdd(x, factor, addend), low), high));
    return hn::Xor(hn::DemoteTo(B(), hn::ConvertTo(I(), hn::Add(y, zero))), y_flip);
  };
  int64_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) {
    const auto y =
        map(hn::LoadU(B(), args.x + i), Column<once>(args.factor, i), Column<once>(args.addend, i));
    hn::StoreU(y, B(), args.y + i);
  }
  if (i == args.n) return;
  HWY_ALIGN uint8_t bytes[kLanes] = {};
  HWY_ALIGN float factor[kLanes] = {}, addend[kLanes] = {};
  std::copy_n(args.x + i, args.n - i, bytes);
  for (int64_t k = 0; k < args.n - i; ++k) {
    factor[k] = args.factor[once ? 0 : i + k];
    addend[k] = args.addend[once ? 0 : i + k];
  }
  const auto y = map(hn::Load(B(), bytes), hn::Load(F(), factor), hn::Load(F(), addend));
  hn::Store(y, B(), bytes);
  std::copy_n(bytes, args.n - i, args.y + i);
}

void RunOnTarget(const ChannelRowArgs& args) {
  args.stride == 0 ? Run<true>(args) : Run<false>(args);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RunOnTarget);

void RunChannelRow(const ChannelRowArgs& args) { HWY_DYNAMIC_DISPATCH(RunOnTarget)(args); }

}  // namespace fettle::kernels
#endif
