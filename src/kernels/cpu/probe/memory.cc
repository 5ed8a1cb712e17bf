#include "kernels/cpu/probe/memory.h"

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/probe/memory.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The sum of the first word of each vector, of all passes.
uint32_t ReadAll(const uint32_t* from, int64_t count, int64_t passes) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i < count; i += 4 * lanes) {
      s0 = hn::Add(s0, hn::Load(d, from + i));
      s1 = hn::Add(s1, hn::Load(d, from + i + lanes));
      s2 = hn::Add(s2, hn::Load(d, from + i + 2 * lanes));
      s3 = hn::Add(s3, hn::Load(d, from + i + 3 * lanes));
    }
    __asm__ volatile("" : : : "memory");
  }
  return hn::GetLane(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

void WriteAll(uint32_t* to, uint32_t value, int64_t count, int64_t passes) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto v = hn::Set(d, value);
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i < count; i += 4 * lanes) {
      hn::Store(v, d, to + i);
      hn::Store(v, d, to + i + lanes);
      hn::Store(v, d, to + i + 2 * lanes);
      hn::Store(v, d, to + i + 3 * lanes);
    }
    __asm__ volatile("" : : : "memory");
  }
}

void CopyAll(const uint32_t* from, uint32_t* to, int64_t count, int64_t passes) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i < count; i += 4 * lanes) {
      hn::Store(hn::Load(d, from + i), d, to + i);
      hn::Store(hn::Load(d, from + i + lanes), d, to + i + lanes);
      hn::Store(hn::Load(d, from + i + 2 * lanes), d, to + i + 2 * lanes);
      hn::Store(hn::Load(d, from + i + 3 * lanes), d, to + i + 3 * lanes);
    }
    __asm__ volatile("" : : : "memory");
  }
}

/// Every bit of every word becomes the other one, in place.
void UpdateAll(uint32_t* to, int64_t count, int64_t passes) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i < count; i += 4 * lanes) {
      hn::Store(hn::Not(hn::Load(d, to + i)), d, to + i);
      hn::Store(hn::Not(hn::Load(d, to + i + lanes)), d, to + i + lanes);
      hn::Store(hn::Not(hn::Load(d, to + i + 2 * lanes)), d, to + i + 2 * lanes);
      hn::Store(hn::Not(hn::Load(d, to + i + 3 * lanes)), d, to + i + 3 * lanes);
    }
    __asm__ volatile("" : : : "memory");
  }
}

int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<uint32_t>())); }

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ReadAll);
HWY_EXPORT(WriteAll);
HWY_EXPORT(CopyAll);
HWY_EXPORT(UpdateAll);
HWY_EXPORT(Lanes);

namespace {

bool Read(const uint32_t* from, uint32_t*, int64_t bytes, int64_t passes) {
  ApplyIsaCap();
  const int64_t count = bytes / 4;
  const uint32_t sum = HWY_DYNAMIC_DISPATCH(ReadAll)(from, count, passes);
  const int64_t vectors = count / HWY_DYNAMIC_DISPATCH(Lanes)() * passes;
  return sum == from[0] * static_cast<uint32_t>(vectors);
}

bool Write(const uint32_t*, uint32_t* to, int64_t bytes, int64_t passes) {
  ApplyIsaCap();
  const int64_t count = bytes / 4;
  const uint32_t value = ~to[0];
  HWY_DYNAMIC_DISPATCH(WriteAll)(to, value, count, passes);
  return to[0] == value && to[count / 2] == value && to[count - 1] == value;
}

bool Copy(const uint32_t* from, uint32_t* to, int64_t bytes, int64_t passes) {
  ApplyIsaCap();
  const int64_t count = bytes / 4;
  to[0] = to[count - 1] = 0;
  HWY_DYNAMIC_DISPATCH(CopyAll)(from, to, count, passes);
  return to[0] == from[0] && to[count / 2] == from[count / 2] && to[count - 1] == from[count - 1];
}

bool Update(const uint32_t*, uint32_t* to, int64_t bytes, int64_t passes) {
  ApplyIsaCap();
  const int64_t count = bytes / 4;
  const uint32_t change = passes % 2 == 1 ? ~uint32_t{0} : 0;
  const uint32_t first = to[0] ^ change, middle = to[count / 2] ^ change,
                 last = to[count - 1] ^ change;
  HWY_DYNAMIC_DISPATCH(UpdateAll)(to, count, passes);
  return to[0] == first && to[count / 2] == middle && to[count - 1] == last;
}

}  // namespace

std::span<const MemoryLoop> MemoryLoops() {
  static constexpr MemoryLoop kLoops[] = {
      {.name = "read", .run = Read, .uses_from = true},
      {.name = "write", .run = Write, .uses_to = true},
      {.name = "copy", .run = Copy, .uses_from = true, .uses_to = true},
      {.name = "update", .run = Update, .uses_to = true, .moves = 2}};
  return kLoops;
}

}  // namespace fettle::kernels
#endif
