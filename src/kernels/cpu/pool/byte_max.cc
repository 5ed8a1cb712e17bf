// compiled: by hand
#include "kernels/cpu/pool/byte_max.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool/byte_max.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Runs whose maxima are taken at once.
constexpr size_t kMostRuns = 8;

/// Runs of elements, to be joined element by element.
template <typename T>
struct Runs {
  std::array<const T*, kMostRuns> from{};
  size_t count = 0;
};

/// to = the maxima of the `n` first elements of the runs. `to` may be one of them. kCount: of the
/// runs, 0 where it is not known.
template <size_t kCount, typename T>
void JoinCounted(const Runs<T>& runs, int64_t n, T* to) {
  const size_t count = kCount == 0 ? runs.count : kCount;
  const auto join = [&](auto tag, int64_t i) HWY_ATTR {
    auto most = hn::LoadU(tag, runs.from[0] + i);
    for (size_t k = 1; k < count; ++k) most = hn::Max(most, hn::LoadU(tag, runs.from[k] + i));
    hn::StoreU(most, tag, to + i);
  };
  // The last vector overlaps the one before it; short runs take shorter vectors.
  const auto by = [&](auto tag) HWY_ATTR {
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    if (n < lanes) return false;
    for (int64_t i = 0; i + lanes <= n; i += lanes) join(tag, i);
    if (n % lanes != 0) join(tag, n - lanes);
    return true;
  };
  if (by(hn::ScalableTag<T>()) || by(hn::CappedTag<T, 16>()) || by(hn::CappedTag<T, 8>())) return;
  for (int64_t i = 0; i < n; ++i) join(hn::CappedTag<T, 1>(), i);
}

template <typename T>
HWY_INLINE void Join(const Runs<T>& runs, int64_t n, T* to) {
  if (runs.count == 2) return JoinCounted<2>(runs, n, to);
  if (runs.count == 3) return JoinCounted<3>(runs, n, to);
  JoinCounted<0>(runs, n, to);
}

/// Joins any number of runs to `to`: add each, then finish.
template <typename T>
class Joiner {
 public:
  HWY_INLINE Joiner(int64_t n, T* to) : n_(n), to_(to) {}
  HWY_INLINE void Add(const T* run) {
    runs_.from[runs_.count++] = run;
    if (runs_.count == kMostRuns) {
      Finish();
      runs_.from[runs_.count++] = to_;
    }
  }
  HWY_INLINE void Finish() {
    if (runs_.count > 0) Join(runs_, n_, to_);
    runs_.count = 0;
  }

 private:
  Runs<T> runs_;
  int64_t n_;
  T* to_;
};

/// Pixels of `n` elements, each the maximum of `taps` pixels that lie tap_step apart; what they are
/// made of lies pixel_step apart.
template <typename T>
struct PixelRuns {
  const T* from = nullptr;
  int64_t taps = 0, tap_step = 0, pixels = 0, pixel_step = 0, n = 0;
  T* to = nullptr;
};

/// kTaps: 0 where they are not known.
template <int64_t kTaps, typename T>
void JoinPixelsCounted(const PixelRuns<T>& p) {
  const int64_t taps = kTaps == 0 ? p.taps : kTaps;
  const auto by = [&](auto tag) HWY_ATTR {
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    if (p.n < lanes) return false;
    const T* from = p.from;
    T* to = p.to;
    const auto join = [&](int64_t i) HWY_ATTR {
      auto most = hn::LoadU(tag, from + i);
      for (int64_t k = 1; k < taps; ++k)
        most = hn::Max(most, hn::LoadU(tag, from + k * p.tap_step + i));
      hn::StoreU(most, tag, to + i);
    };
    for (int64_t pixel = 0; pixel < p.pixels; ++pixel, from += p.pixel_step, to += p.n) {
      for (int64_t i = 0; i + lanes <= p.n; i += lanes) join(i);
      if (p.n % lanes != 0) join(p.n - lanes);
    }
    return true;
  };
  if (by(hn::ScalableTag<T>()) || by(hn::CappedTag<T, 16>()) || by(hn::CappedTag<T, 8>())) return;
  by(hn::CappedTag<T, 1>());
}

template <typename T>
void JoinPixels(const PixelRuns<T>& p) {
  if (p.taps == 2) return JoinPixelsCounted<2>(p);
  if (p.taps == 3) return JoinPixelsCounted<3>(p);
  JoinPixelsCounted<0>(p);
}

/// The rows of the window as one, with what is outside of the input as the least value.
template <typename T>
void JoinRowsOfWindow(const PoolPlan& plan, const T* image, const PoolTaps& d, const PoolTaps& h,
                      T* to) {
  const int64_t width = plan.in[2] * plan.channels, all = MaxBytesScratch(plan);
  const int64_t before = std::min(plan.pad_begin[2] * plan.channels, all);
  const int64_t inside = d.begin == d.end || h.begin == h.end ? 0 : std::min(width, all - before);
  constexpr T kLeast = std::numeric_limits<T>::lowest();
  std::fill_n(to, before, kLeast);
  Joiner<T> joiner(inside, to + before);
  for (int64_t kd = d.begin; kd < d.end; ++kd) {
    for (int64_t kh = h.begin; kh < h.end; ++kh) {
      const int64_t depth = d.first + kd * plan.dilation[0];
      joiner.Add(image + (depth * plan.in[1] + h.first + kh * plan.dilation[1]) * width);
    }
  }
  joiner.Finish();
  std::fill_n(to + before + inside, all - before - inside, kLeast);
}

template <typename T>
void RowOf(const PoolPlan& plan, const T* x, T* y, int64_t row, T* scratch) {
  const auto [n, od, oh] = PoolRowAt(plan, row);
  const int64_t image = plan.in[0] * plan.in[1] * plan.in[2] * plan.channels;
  const PoolTaps d(plan, 0, od), h(plan, 1, oh);
  JoinRowsOfWindow(plan, x + n * image, d, h, scratch);
  // Where neighbouring outputs read neighbouring inputs, they are one long pixel.
  const bool is_run = plan.stride[2] == 1;
  JoinPixels<T>({.from = scratch,
                 .taps = plan.kernel[2],
                 .tap_step = plan.dilation[2] * plan.channels,
                 .pixels = is_run ? 1 : plan.out[2],
                 .pixel_step = plan.stride[2] * plan.channels,
                 .n = (is_run ? plan.out[2] : 1) * plan.channels,
                 .to = y + row * plan.out[2] * plan.channels});
}

void MaxBytesRowOnTarget(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                         std::byte* scratch) {
  const auto run = [&](auto type) {
    using T = decltype(type);
    RowOf(plan, reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y), row,
          reinterpret_cast<T*>(scratch));
  };
  plan.storage == DType::kU8 ? run(uint8_t{}) : run(int8_t{});
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(MaxBytesRowOnTarget);

void MaxBytesRow(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                 std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(MaxBytesRowOnTarget)(plan, x, y, row, scratch);
}

int64_t MaxBytesScratch(const PoolPlan& plan) {
  // Pixels of a row as the windows of all outputs read it.
  return plan.channels *
         ((plan.out[2] - 1) * plan.stride[2] + (plan.kernel[2] - 1) * plan.dilation[2] + 1);
}

}  // namespace fettle::kernels
#endif
