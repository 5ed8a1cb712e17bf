#include "kernels/cpu/simd/storage.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/storage.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// Whole numbers in [least, greatest]; NaN becomes 0.
void RoundInto(float* values, int64_t n, float least, float greatest) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto low = hn::Set(d, least), high = hn::Set(d, greatest);
  for (int64_t i = 0; i < n; i += lanes) {  // the buffer is a multiple of any vector
    const auto x = hn::Load(d, values + i);
    const auto y = hn::Min(hn::Max(hn::Round(x), low), high);
    hn::Store(hn::IfThenZeroElse(hn::IsNaN(x), y), d, values + i);
  }
}

bool IntegerRange(DType type, float& least, float& greatest) {
  switch (type) {
    case DType::kI8: least = -128, greatest = 127; return true;
    case DType::kU8: least = 0, greatest = 255; return true;
    case DType::kI16: least = -32768, greatest = 32767; return true;
    case DType::kU16: least = 0, greatest = 65535; return true;
    default: return false;
  }
}

void ConvertRowOnTarget(DType from_type, const std::byte* from, DType to_type, std::byte* to,
                        int64_t n) {
  if (to_type == DType::kF32)
    return LoadAsFloat(from_type, from, 1, n, reinterpret_cast<float*>(to));
  constexpr int64_t kBlock = 512;
  HWY_ALIGN float values[kBlock] = {};
  float least = 0, greatest = 0;
  const bool rounds = IntegerRange(to_type, least, greatest);
  if (from_type == DType::kF32 && !rounds)
    return StoreFromFloat(to_type, reinterpret_cast<const float*>(from), n, to);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    LoadAsFloat(from_type, from + i * StorageBytes(from_type), 1, count, values);
    if (rounds) RoundInto(values, count, least, greatest);
    StoreFromFloat(to_type, values, count, to + i * StorageBytes(to_type));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ConvertRowOnTarget);

bool HasFloatRows(DType storage) {
  switch (storage) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kU16: return true;
    default: return false;
  }
}

void ConvertRow(DType from_type, const std::byte* from, DType to_type, std::byte* to, int64_t n) {
  HWY_DYNAMIC_DISPATCH(ConvertRowOnTarget)(from_type, from, to_type, to, n);
}

}  // namespace fettle::kernels
#endif
