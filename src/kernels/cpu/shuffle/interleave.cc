#include "kernels/cpu/shuffle/interleave.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/shuffle/interleave.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Interleaves whole vectors of a row, of at most 16 bytes each, which take one instruction for
/// either half of the result; the last one overlaps the one before it. Returns how many elements it
/// has done.
template <typename T>
HWY_INLINE int64_t InterleaveVectors([[maybe_unused]] const T* a, [[maybe_unused]] const T* b,
                                     [[maybe_unused]] int64_t n, [[maybe_unused]] T* y) {
#if HWY_TARGET == HWY_SCALAR  // has nothing to interleave
  return 0;
#else
  const hn::CappedTag<T, 16 / sizeof(T)> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < n && n >= lanes; i += lanes) {
    const int64_t at = i + lanes <= n ? i : n - lanes;
    const auto va = hn::LoadU(d, a + at), vb = hn::LoadU(d, b + at);
    hn::StoreU(hn::InterleaveLower(d, va, vb), d, y + 2 * at);
    hn::StoreU(hn::InterleaveUpper(d, va, vb), d, y + 2 * at + lanes);
  }
  return n >= lanes ? n : 0;
#endif
}

template <typename T>
void Interleave(const InterleaveArgs& args) {
  const auto *a = reinterpret_cast<const T*>(args.a), *b = reinterpret_cast<const T*>(args.b);
  T* y = reinterpret_cast<T*>(args.y);
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t i = InterleaveVectors(a, b, args.n, y); i < args.n; ++i) {
      y[2 * i] = a[i];
      y[2 * i + 1] = b[i];
    }
    a += args.a_stride;
    b += args.b_stride;
    y += 2 * args.n;
  }
}

void Interleave1(const InterleaveArgs& args) { Interleave<uint8_t>(args); }
void Interleave2(const InterleaveArgs& args) { Interleave<uint16_t>(args); }
void Interleave4(const InterleaveArgs& args) { Interleave<uint32_t>(args); }

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(Interleave1);
HWY_EXPORT(Interleave2);
HWY_EXPORT(Interleave4);

InterleaveFunction FindInterleave(int64_t element_bytes) {
  switch (element_bytes) {
    case 1: return [](const InterleaveArgs& args) { HWY_DYNAMIC_DISPATCH(Interleave1)(args); };
    case 2: return [](const InterleaveArgs& args) { HWY_DYNAMIC_DISPATCH(Interleave2)(args); };
    case 4: return [](const InterleaveArgs& args) { HWY_DYNAMIC_DISPATCH(Interleave4)(args); };
    default: return nullptr;
  }
}

}  // namespace fettle::kernels
#endif
