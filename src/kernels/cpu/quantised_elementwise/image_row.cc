#include "kernels/cpu/quantised_elementwise/image_row.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised_elementwise/image_row.cc"
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
using VF = hn::Vec<F>;
constexpr int64_t kLanes = HWY_LANES(float);

/// Numbers to bytes by a product instead of a quotient. The two differ by less than kDoubt steps;
/// where that may round to another step, and only there, the quotient is taken.
class ImageQuantiser {
 public:
  explicit ImageQuantiser(const ByteOperand& type)
      : flip_(hn::Set(B(), type.flip)),
        zero_(hn::Set(F(), type.zero)),
        scale_(hn::Set(F(), type.scale)),
        reciprocal_(hn::Set(F(), 1 / type.scale)),
        low_(hn::Set(F(), -type.zero)),
        high_(hn::Set(F(), 255 - type.zero)) {}

  HWY_INLINE hn::Vec<B> operator()(VF x) const {
    VF steps = Clamp(hn::Mul(x, reciprocal_));
    VF rounded = hn::Round(steps);
    const auto doubtful = hn::Gt(hn::AbsDiff(steps, rounded), hn::Set(F(), 0.5f - kDoubt));
    if (HWY_UNLIKELY(!hn::AllFalse(F(), doubtful))) rounded = hn::Round(Clamp(hn::Div(x, scale_)));
    const auto bytes = hn::DemoteTo(B(), hn::ConvertTo(I(), hn::Add(rounded, zero_)));
    return hn::Xor(bytes, flip_);
  }

 private:
  /// Three roundings of numbers up to 256.
  static constexpr float kDoubt = 0x1p-12f;

  /// Bounds are whole: clamping before rounding equals clamping after it.
  HWY_INLINE VF Clamp(VF x) const { return hn::Min(hn::Max(x, low_), high_); }

  hn::Vec<B> flip_;
  VF zero_, scale_, reciprocal_, low_, high_;
};

template <int kChannels>
void Run(const ImageRowArgs& args) {
  const ImageQuantiser quantise(args.type);
  const auto store = [](const hn::Vec<B>* v, uint8_t* y) HWY_ATTR {
    if constexpr (kChannels == 2) {
      hn::StoreInterleaved2(v[0], v[1], B(), y);
    } else if constexpr (kChannels == 3) {
      hn::StoreInterleaved3(v[0], v[1], v[2], B(), y);
    } else {
      hn::StoreInterleaved4(v[0], v[1], v[2], v[3], B(), y);
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) {
    hn::Vec<B> v[kChannels];
    for (int c = 0; c < kChannels; ++c) v[c] = quantise(hn::LoadU(F(), args.x[c] + i));
    store(v, args.y + i * kChannels);
  }
  if (i == args.n) return;
  HWY_ALIGN float last[kLanes] = {};
  HWY_ALIGN uint8_t bytes[kLanes * kChannels];
  hn::Vec<B> v[kChannels];
  for (int c = 0; c < kChannels; ++c) {
    std::copy_n(args.x[c] + i, args.n - i, last);
    v[c] = quantise(hn::Load(F(), last));
  }
  store(v, bytes);
  std::copy_n(bytes, (args.n - i) * kChannels, args.y + i * kChannels);
}

void Run2(const ImageRowArgs& args) { Run<2>(args); }
void Run3(const ImageRowArgs& args) { Run<3>(args); }
void Run4(const ImageRowArgs& args) { Run<4>(args); }

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(Run2);
HWY_EXPORT(Run3);
HWY_EXPORT(Run4);

void RunImageRow(const ImageRowArgs& args, int64_t channels) {
  if (channels == 2) return HWY_DYNAMIC_DISPATCH(Run2)(args);
  if (channels == 3) return HWY_DYNAMIC_DISPATCH(Run3)(args);
  HWY_DYNAMIC_DISPATCH(Run4)(args);
}

}  // namespace fettle::kernels
#endif
