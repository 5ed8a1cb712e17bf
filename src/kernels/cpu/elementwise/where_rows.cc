// compiled: by hand
#include "kernels/cpu/elementwise/where_rows.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

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
  Row<T>{reinterpret_cast<const uint8_t*>(in[0]),
         reinterpret_cast<const T*>(in[1]),
         reinterpret_cast<const T*>(in[2]),
         reinterpret_cast<T*>(out),
         n,
         {mask(0), mask(1), mask(2)}}
      .Run();
}

/// A vector of one element.
template <typename T>
void SpreadOne(const std::byte* one, std::byte* to) {
  const hn::ScalableTag<T> d;
  hn::StoreU(hn::Set(d, *reinterpret_cast<const T*>(one)), d, reinterpret_cast<T*>(to));
}

void WhereOnTarget(int64_t bytes, const std::byte* const* operands, std::byte* out, int64_t n,
                   unsigned once) {
  HWY_ALIGN std::byte spread[3][64];  // of the widest vector
  const std::byte* in[] = {operands[0], operands[1], operands[2]};
  if ((once & 1) != 0) {  // one condition: a copy of an operand, or one element of it everywhere
    const int chosen = *in[0] != std::byte{0} ? 1 : 2;
    if ((once >> chosen & 1) == 0) {
      if (in[chosen] != out) std::memcpy(out, in[chosen], static_cast<size_t>(n * bytes));
      return;
    }
    in[3 - chosen] = in[chosen];
    once |= 6;
  }
#pragma GCC unroll 1
  for (int k = 0; k < 3; ++k) {
    if ((once >> k & 1) == 0) continue;
    switch (k == 0 ? 1 : bytes) {
      case 1: SpreadOne<uint8_t>(in[k], spread[k]); break;
      case 2: SpreadOne<uint16_t>(in[k], spread[k]); break;
      case 4: SpreadOne<uint32_t>(in[k], spread[k]); break;
      default: SpreadOne<uint64_t>(in[k], spread[k]);
    }
    in[k] = spread[k];
  }
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
