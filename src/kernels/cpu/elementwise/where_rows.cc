// compiled: by hand
#include "kernels/cpu/elementwise/where_rows.h"

#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/where_rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Where the bytes, one for each lane, are not 0.
template <class D, class V>
HWY_INLINE auto Chosen(D d, V bytes) {
  using T = hn::TFromD<D>;
  if constexpr (sizeof(T) == 1) {
    return hn::Ne(bytes, hn::Zero(d));
  } else if constexpr (sizeof(T) == 8) {
    const hn::Rebind<uint32_t, D> words;
    return hn::Ne(hn::PromoteTo(d, hn::PromoteTo(words, bytes)), hn::Zero(d));
  } else {
    return hn::Ne(hn::PromoteTo(d, bytes), hn::Zero(d));
  }
}

template <typename T>
struct Row {
  const uint8_t* condition;
  const T *a, *b;
  T* y;
  int64_t n, masks[3];  // of an operand's element: 0 where its first vector is all that it has

  template <class D>
  HWY_INLINE int64_t InVectorsOf(D d, int64_t i) const {
    const hn::Rebind<uint8_t, D> bytes;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) {
      const auto chosen = Chosen(d, hn::LoadU(bytes, condition + (i & masks[0])));
      hn::StoreU(hn::IfThenElse(chosen, hn::LoadU(d, a + (i & masks[1])),
                                hn::LoadU(d, b + (i & masks[2]))),
                 d, y + i);
    }
    return i;
  }

  HWY_INLINE void Run() const {
    int64_t i = InVectorsOf(hn::ScalableTag<T>(), 0);
    i = InVectorsOf(hn::CappedTag<T, 16 / sizeof(T)>(), i);
    for (; i < n; ++i) y[i] = condition[i & masks[0]] != 0 ? a[i & masks[1]] : b[i & masks[2]];
  }
};

template <typename T>
HWY_INLINE void Choose(const std::byte* const* in, std::byte* out, int64_t n, unsigned once) {
  const auto mask = [once](int k) { return (once >> k & 1) != 0 ? int64_t{0} : ~int64_t{0}; };
  HWY_ALIGN uint8_t conditions[hn::MaxLanes(hn::ScalableTag<uint8_t>())];
  HWY_ALIGN T spread[2][hn::MaxLanes(hn::ScalableTag<T>())];
  const auto* condition = reinterpret_cast<const uint8_t*>(in[0]);
  const T* from[] = {reinterpret_cast<const T*>(in[1]), reinterpret_cast<const T*>(in[2])};
  if (mask(0) == 0) {
    const hn::ScalableTag<uint8_t> d;
    hn::Store(hn::Set(d, *condition), d, conditions);
    condition = conditions;
  }
  for (int k = 0; k < 2; ++k) {
    if (mask(k + 1) != 0) continue;
    const hn::ScalableTag<T> d;
    hn::Store(hn::Set(d, *from[k]), d, spread[k]);
    from[k] = spread[k];
  }
  Row<T>{condition, from[0], from[1], reinterpret_cast<T*>(out), n, {mask(0), mask(1), mask(2)}}
      .Run();
}

void WhereOnTarget(int64_t bytes, const std::byte* const* in, std::byte* out, int64_t n,
                   unsigned once) {
  switch (bytes) {
    case 1: return Choose<uint8_t>(in, out, n, once);
    case 2: return Choose<uint16_t>(in, out, n, once);
    case 4: return Choose<uint32_t>(in, out, n, once);
    default: return Choose<uint64_t>(in, out, n, once);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels::elementwise {

HWY_EXPORT(WhereOnTarget);

namespace {

template <int64_t kBytes>
void Where(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n, unsigned once) {
  HWY_DYNAMIC_DISPATCH(WhereOnTarget)(kBytes, in, out, n, once);
}

}  // namespace

TypedRow FindWhereRow(DType dtype) {
  switch (ByteSize(dtype)) {
    case 1: return Where<1>;
    case 2: return Where<2>;
    case 4: return Where<4>;
    case 8: return Where<8>;
    default: return nullptr;
  }
}

}  // namespace fettle::kernels::elementwise
#endif
