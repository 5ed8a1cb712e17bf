#include "kernels/cpu/recurrent/cell.h"

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

const RecurrentCells* Cells() {
  static const RecurrentCells cells = {Rnn, Lstm, GruGates, GruReset, GruUpdate};
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
