#include <hwy/targets.h>

#include "kernels/cpu/probe/chains.h"
#include "kernels/cpu/probe/loops.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/probe/loops_simd.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Without vectors there is the multiply-add alone: compilers see through the rest.
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
constexpr bool kIsEmulated = true;
#else
constexpr bool kIsEmulated = false;
#endif

/// Hides from the compiler what a vector holds, by no instruction.
template <class V>
HWY_INLINE void HideVector(V& v) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  (void)v;
#elif HWY_ARCH_X86
  __asm__("" : "+x"(v.raw));
#else
  __asm__("" : "+w"(v.raw));
#endif
}

/// Has the compiler believe that a vector is used.
template <class V>
HWY_INLINE void Use(V v) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  volatile auto lane = hn::GetLane(v);
  (void)lane;
#elif HWY_ARCH_X86
  __asm__ volatile("" : : "x"(v.raw));
#else
  __asm__ volatile("" : : "w"(v.raw));
#endif
}

// One instruction each: the first value of a chain, the next value, and the value after a number of
// steps. `m` is -1 where the type has that number, `a` is 1.
template <typename T>
struct FusedMultiplyAdd {
  using Lane = T;
  static T Start(int i) { return static_cast<T>(i); }
  template <class V>
  static HWY_INLINE V Next(V x, V& m, V a) {
    return hn::MulAdd(x, m, a);
  }
  static T After(T x, int64_t n) { return n % 2 == 1 ? 1 - x : x; }
};

struct Multiply {
  using Lane = float;
  static float Start(int i) { return static_cast<float>(i + 1); }
  template <class V>
  static HWY_INLINE V Next(V x, V& m, V) {
    return hn::Mul(x, m);
  }
  static float After(float x, int64_t n) { return n % 2 == 1 ? -x : x; }
};

template <typename T>
struct Addition {
  using Lane = T;
  static T Start(int i) { return static_cast<T>(i); }
  template <class V>
  static HWY_INLINE V Next(V x, V&, V a) {
    return hn::Add(x, a);
  }
  static T After(T x, int64_t n) { return x + static_cast<T>(n); }
};

template <typename T>
struct Maximum {
  using Lane = T;
  static T Start(int i) { return static_cast<T>(i); }
  template <class V>
  static HWY_INLINE V Next(V x, V&, V a) {
    return hn::Max(x, a);
  }
  static T After(T x, int64_t) { return x > 1 ? x : 1; }
};

/// 1 / x of powers of two.
struct Quotient {
  using Lane = float;
  static float Start(int i) { return static_cast<float>(1 << i); }
  template <class V>
  static HWY_INLINE V Next(V x, V&, V a) {
    return hn::Div(a, x);
  }
  static float After(float x, int64_t n) { return n % 2 == 1 ? 1 / x : x; }
};

/// Every byte becomes byte 1.
struct Lookup {
  using Lane = uint8_t;
  static uint8_t Start(int i) { return static_cast<uint8_t>(i); }
  template <class V>
  static HWY_INLINE V Next(V x, V&, V a) {
    return hn::TableLookupBytes(x, a);
  }
  static uint8_t After(uint8_t x, int64_t) { return x; }
};

/// Bits that differ, counted in bytes and added: products of bits where no instruction counts.
/// 0xff and 1 differ in 7.
struct BitDot {
  using Lane = uint8_t;
  static uint8_t Start(int i) { return static_cast<uint8_t>(i); }
  template <class V>
  static HWY_INLINE V Next(V x, V& m, V a) {
    HideVector(m);
    return hn::Add(x, hn::PopulationCount(hn::Xor(m, a)));
  }
  static uint8_t After(uint8_t x, int64_t n) { return static_cast<uint8_t>(x + 7 * n); }
};

template <class Step>
int64_t Independent(int64_t rounds) {
  using T = typename Step::Lane;
  const hn::ScalableTag<T> d;
  auto m = hn::Set(d, static_cast<T>(-1)), a = hn::Set(d, T{1});
  HideVector(m);
  HideVector(a);
  const auto start = [&](int i) HWY_ATTR { return hn::Set(d, Step::Start(i)); };
  auto x0 = start(0), x1 = start(1), x2 = start(2), x3 = start(3), x4 = start(4);
  auto x5 = start(5), x6 = start(6), x7 = start(7), x8 = start(8), x9 = start(9);
  for (int64_t r = 0; r < rounds; ++r) {
    x0 = Step::Next(x0, m, a), HideVector(x0), x1 = Step::Next(x1, m, a), HideVector(x1);
    x2 = Step::Next(x2, m, a), HideVector(x2), x3 = Step::Next(x3, m, a), HideVector(x3);
    x4 = Step::Next(x4, m, a), HideVector(x4), x5 = Step::Next(x5, m, a), HideVector(x5);
    x6 = Step::Next(x6, m, a), HideVector(x6), x7 = Step::Next(x7, m, a), HideVector(x7);
    x8 = Step::Next(x8, m, a), HideVector(x8), x9 = Step::Next(x9, m, a), HideVector(x9);
  }
  const T ends[] = {hn::GetLane(x0), hn::GetLane(x1), hn::GetLane(x2), hn::GetLane(x3),
                    hn::GetLane(x4), hn::GetLane(x5), hn::GetLane(x6), hn::GetLane(x7),
                    hn::GetLane(x8), hn::GetLane(x9)};
  for (int i = 0; i < 10; ++i)
    if (ends[i] != Step::After(Step::Start(i), rounds)) return 0;
  return 10 * rounds;
}

template <class Step>
int64_t Dependent(int64_t rounds) {
  using T = typename Step::Lane;
  const hn::ScalableTag<T> d;
  auto m = hn::Set(d, static_cast<T>(-1)), a = hn::Set(d, T{1});
  HideVector(m);
  HideVector(a);
  auto x = hn::Set(d, Step::Start(1));
  int64_t r = 0;
  for (; r + kLinksPerRound <= rounds; r += kLinksPerRound) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLinksPerRound; ++i) x = Step::Next(x, m, a), HideVector(x);
  }
  for (; r < rounds; ++r) x = Step::Next(x, m, a), HideVector(x);
  return hn::GetLane(x) == Step::After(Step::Start(1), rounds) ? rounds : 0;
}

/// Ten vectors of the nearest cache, whole or one lane of each for all.
template <bool kBroadcasts>
int64_t Loads(int64_t rounds) {
  const hn::ScalableTag<float> d;
  HWY_ALIGN float memory[10 * hn::MaxLanes(d)];
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < 10 * lanes; ++i) memory[i] = static_cast<float>(i);
  auto last = hn::Zero(d);
  for (int64_t r = 0; r < rounds; ++r) {
    for (size_t i = 0; i < 10; ++i) {
      if constexpr (kBroadcasts) last = hn::Set(d, memory[i * lanes]);
      if constexpr (!kBroadcasts) last = hn::Load(d, memory + i * lanes);
      Use(last);
    }
    __asm__ volatile("" : : : "memory");
  }
  return hn::GetLane(last) == static_cast<float>(9 * lanes) ? 10 * rounds : 0;
}

[[maybe_unused]] int64_t Stores(int64_t rounds) {  // no row where vectors are emulated
  const hn::ScalableTag<float> d;
  HWY_ALIGN float memory[10 * hn::MaxLanes(d)];
  const size_t lanes = hn::Lanes(d);
  auto value = hn::Set(d, 3.0F);
  HideVector(value);
  for (int64_t r = 0; r < rounds; ++r) {
    for (size_t i = 0; i < 10; ++i) hn::Store(value, d, memory + i * lanes);
    __asm__ volatile("" : : "r"(memory) : "memory");
  }
  return memory[10 * lanes - 1] == 3.0F ? 10 * rounds : 0;
}

template <class Step>
constexpr RegisterLoop Row(std::string_view instruction, std::string_view ceiling = {},
                           double operations_per_lane = 0) {
  return {.instruction = instruction,
          .isa = {},
          .independent = Independent<Step>,
          .dependent = Dependent<Step>,
          .ceiling = ceiling,
          .operations = operations_per_lane *
                        static_cast<double>(hn::MaxLanes(hn::ScalableTag<typename Step::Lane>())),
          .is_one = !kIsEmulated};
}

constexpr RegisterLoop kTargetLoops[] = {
    Row<FusedMultiplyAdd<float>>("fma f32", "fp32 fma", 2),
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
#if HWY_HAVE_FLOAT64
    Row<FusedMultiplyAdd<double>>("fma f64", "fp64 fma", 2),
#endif
    Row<Maximum<uint8_t>>("max u8", "int8 max", 1),
    {.instruction = "xor, popcount, add",
     .isa = {},
     .independent = Independent<BitDot>,
     .ceiling = "bit dot",
     .operations = 2 * 8 * static_cast<double>(hn::MaxLanes(hn::ScalableTag<uint8_t>())),
     .is_one = false},
    Row<Multiply>("mul f32"),
    Row<Addition<float>>("add f32"),
    Row<Maximum<float>>("max f32"),
    Row<Quotient>("div f32"),
    Row<Addition<int32_t>>("add i32"),
    Row<Lookup>("lookup u8"),
    {.instruction = "load", .isa = {}, .independent = Loads<false>},
    {.instruction = "broadcast load", .isa = {}, .independent = Loads<true>},
    {.instruction = "store", .isa = {}, .independent = Stores},
#endif
};

}  // namespace

std::span<const RegisterLoop> ListTargetLoops() { return kTargetLoops; }

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ListTargetLoops);

namespace {

/// Of one target, which need not be the one that is dispatched to.
std::span<const RegisterLoop> LoopsOf(int64_t target) {
#if HWY_IDE || ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0)
  (void)target;
  return HWY_STATIC_DISPATCH(ListTargetLoops)();
#else
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return HWY_DISPATCH_TABLE(ListTargetLoops)[chosen.GetIndex()]();
#endif
}

}  // namespace

std::vector<ListedLoop> SimdLoops() {
  std::vector<ListedLoop> listed;
  // A lower bit is a better target.
  for (int bit = 0; bit < 63; ++bit) {
    const int64_t target = int64_t{1} << bit;
    if ((HWY_TARGETS & target) == 0) continue;
    const std::string_view isa = hwy::TargetName(target);
    if (!RunsSimdTarget(isa)) {
      // Their table may be read by code of that target alone.
      listed.push_back({{.instruction = "fma f32", .isa = isa, .ceiling = "fp32 fma"}, false});
      continue;
    }
    for (RegisterLoop loop : LoopsOf(target)) {
      loop.isa = isa;
      listed.push_back({loop, true});
    }
  }
  return listed;
}

}  // namespace fettle::kernels
#endif
