#include "kernels/cpu/recurrent/cell.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/recurrent/cell.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd/math-inl.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);

/// Up to a vector of values behind `p`; the lanes past `left` are zero.
struct GateWindow {
  int64_t left;
  bool whole() const { return left >= kLanes; }
  HWY_INLINE V Load(const float* p) const {
    return whole() ? hn::LoadU(D(), p) : hn::MaskedLoad(Mask(), D(), p);
  }
  HWY_INLINE void Store(V x, float* p) const {
    if (whole()) {
      hn::StoreU(x, D(), p);
    } else {
      StoreFirst(D(), x, left, p);
    }
  }
  HWY_INLINE hn::Mask<D> Mask() const { return hn::FirstN(D(), left); }
};

void Rnn(int64_t units, const float* sum, float* h) {
  for (int64_t u = 0; u < units; u += kLanes) {
    const GateWindow w{units - u};
    w.Store(Tanh(D(), w.Load(sum + u)), h + u);
  }
}

void Lstm(int64_t units, const float* gates, float* c, float* h) {
  for (int64_t u = 0; u < units; u += kLanes) {
    const GateWindow w{units - u};
    const V i = Sigmoid(D(), w.Load(gates + u));
    const V o = Sigmoid(D(), w.Load(gates + units + u));
    const V f = Sigmoid(D(), w.Load(gates + 2 * units + u));
    const V g = Tanh(D(), w.Load(gates + 3 * units + u));
    const V cell = hn::MulAdd(f, w.Load(c + u), hn::Mul(i, g));
    w.Store(cell, c + u);
    w.Store(hn::Mul(o, Tanh(D(), cell)), h + u);
  }
}

void GruGates(int64_t units, float* x_part, const float* state_part) {
  for (int64_t u = 0; u < 2 * units; u += kLanes) {
    const GateWindow w{2 * units - u};
    w.Store(Sigmoid(D(), hn::Add(w.Load(x_part + u), w.Load(state_part + u))), x_part + u);
  }
}

void GruReset(int64_t units, const float* gates, const float* h, float* out) {
  for (int64_t u = 0; u < units; u += kLanes) {
    const GateWindow w{units - u};
    w.Store(hn::Mul(w.Load(gates + units + u), w.Load(h + u)), out + u);
  }
}

void GruUpdate(int64_t units, const float* gates, const float* state_part, bool reset_state,
               float* h) {
  for (int64_t u = 0; u < units; u += kLanes) {
    const GateWindow w{units - u};
    const V z = w.Load(gates + u);
    const V r = reset_state ? w.Load(gates + units + u) : hn::Set(D(), 1.0f);
    const V sum = hn::MulAdd(r, w.Load(state_part + u), w.Load(gates + 2 * units + u));
    const V candidate = Tanh(D(), sum);
    w.Store(hn::MulAdd(z, hn::Sub(w.Load(h + u), candidate), candidate), h + u);
  }
}

/// A vector of x from k on; what lies behind the first `n` of x is 0.
HWY_INLINE V LoadSome(const float* x, int64_t k, int64_t n) {
  return hn::MaskedLoad(hn::FirstN(D(), static_cast<size_t>(std::max<int64_t>(n - k, 0))), D(),
                        x + k);
}

float Round(const float* x, int64_t n, float limit, std::byte* high, std::byte* low) {
  const hn::RebindToSigned<D> whole;
  // As integers NaN are above all numbers.
  auto largest = hn::Zero(whole);
  for (int64_t k = 0; k < n; k += kLanes)
    largest = hn::Max(largest, hn::BitCast(whole, hn::Abs(LoadSome(x, k, n))));
  const float most = hn::GetLane(hn::BitCast(D(), hn::MaxOfLanes(whole, largest)));
  const bool finite = most <= std::numeric_limits<float>::max(), none = !(most > 1e-30F);
  const V scale = hn::Set(D(), none ? 0.0F : limit / most);
  const hn::Rebind<int16_t, D> half;
  const hn::Rebind<uint8_t, D> byte;
  const int64_t count = finite ? n : 0;  // steps of NaN make NaN of any numbers
  for (int64_t k = 0; k < n; k += kLanes) {
    const auto q = hn::NearestInt(hn::Mul(LoadSome(x, k, count), scale));
    if (low == nullptr) {
      hn::StoreU(hn::DemoteTo(half, q), half, reinterpret_cast<int16_t*>(high) + k);
    } else {
      const auto u = hn::Add(q, hn::Set(whole, 32768));
      hn::StoreU(hn::DemoteTo(byte, hn::ShiftRight<8>(u)), byte,
                 reinterpret_cast<uint8_t*>(high) + k);
      hn::StoreU(hn::DemoteTo(byte, hn::And(u, hn::Set(whole, 255))), byte,
                 reinterpret_cast<uint8_t*>(low) + k);
    }
  }
  if (!finite) return std::numeric_limits<float>::quiet_NaN();
  return none ? 0.0F : most / limit;
}

/// Row `r`.
HWY_INLINE void AddRow(const GateSums& sums, int64_t r, float* out) {
  const hn::RebindToSigned<D> whole;
  const int32_t *high = sums.high + r * sums.stride,
                *low = sums.low == nullptr ? nullptr : sums.low + r * sums.stride;
  const V step = hn::Set(D(), sums.row_steps[r]);
  for (int64_t n = 0; n < sums.columns; n += kLanes) {
    const GateWindow w{sums.columns - n};
    auto sum = hn::LoadU(whole, high + n);
    V all = hn::ConvertTo(D(), sum);
    if (sums.low != nullptr) {
      sum = hn::Sub(sum, hn::LoadU(whole, sums.excess + n));
      all = hn::MulAdd(hn::ConvertTo(D(), sum), hn::Set(D(), 256.0F),
                       hn::ConvertTo(D(), hn::LoadU(whole, low + n)));
    }
    const V scale = hn::Mul(hn::LoadU(D(), sums.steps + n), step);
    w.Store(
        hn::MulAdd(all, scale, LoadSome(sums.bias == nullptr ? out : sums.bias, n, sums.columns)),
        out + n);
  }
}

void AddSums(const GateSums& sums, float* out, int64_t stride) {
  for (int64_t r = 0; r < sums.rows; ++r) AddRow(sums, r, out + r * stride);
}

const RecurrentCells* Cells() {
  static const RecurrentCells cells = {Rnn, Lstm, GruGates, GruReset, GruUpdate, Round, AddSums};
  return &cells;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(Cells);

const RecurrentCells& GetRecurrentCells() {
  ApplyIsaCap();
  return *HWY_DYNAMIC_DISPATCH(Cells)();
}

}  // namespace fettle::kernels
#endif
