#include "kernels/cpu/probe/probe.h"

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "device/cpu/amx.h"
#include "kernels/cpu/probe/dot.h"
#include "kernels/cpu/probe/fma.h"
#include "kernels/cpu/simd/targets.h"
#include "tensor/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/probe/probe.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Reads `count` floats (a multiple of eight vectors of any target) `passes` times; the result
/// depends on all of them.
float ReadOnTarget(const float* from, int64_t count, int64_t passes) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* p = reinterpret_cast<const uint32_t*>(from);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i < count; i += 4 * lanes) {
      s0 = hn::Xor(s0, hn::Load(d, p + i));
      s1 = hn::Xor(s1, hn::Load(d, p + i + lanes));
      s2 = hn::Xor(s2, hn::Load(d, p + i + 2 * lanes));
      s3 = hn::Xor(s3, hn::Load(d, p + i + 3 * lanes));
    }
  }
  return static_cast<float>(hn::GetLane(hn::Xor(hn::Xor(s0, s1), hn::Xor(s2, s3))));
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ReadOnTarget);

namespace {

constexpr int kRepeats = 8;
/// Bytes that a level is read for in one repeat, large enough for the clock.
constexpr int64_t kBytesPerRepeat = 4 << 20;
/// Memory is read well beyond the last cache level, but not without bound.
constexpr int64_t kLeastMemory = int64_t{32} << 20, kMostMemory = int64_t{128} << 20;

/// Runs `work`, which returns how much it did, and keeps the best and the worst rate.
template <typename F>
Ceiling Measure(std::string_view name, std::string_view unit, int repeats, F work) {
  Ceiling ceiling{.name = name, .unit = unit};
  double worst = 0;
  for (int i = 0; i <= repeats; ++i) {
    const int64_t start = NowNs();
    const double done = work();
    const double rate = done / static_cast<double>(std::max<int64_t>(NowNs() - start, 1)) * 1e9;
    if (i == 0) continue;  // warms up
    ceiling.value = std::max(ceiling.value, rate);
    worst = i == 1 ? rate : std::min(worst, rate);
  }
  ceiling.spread = ceiling.value > 0 ? (ceiling.value - worst) / ceiling.value : 0;
  return ceiling;
}

Ceiling MeasureRead(std::string_view name, const float* memory, int64_t bytes, int repeats) {
  constexpr int64_t kGranule = 8 * 64 * 4;  // whole rounds of the loop, whatever the vectors
  const int64_t count = std::max<int64_t>(bytes / kGranule, 1) * kGranule / 4;
  const int64_t passes = std::max<int64_t>(kBytesPerRepeat / (count * 4), 1);
  volatile float sink = 0;
  return Measure(name, "B/s", repeats, [&] {
    sink = HWY_DYNAMIC_DISPATCH(ReadOnTarget)(memory, count, passes);
    return static_cast<double>(count * 4 * passes);
  });
}

std::vector<Ceiling> ProbeAll(const CpuInfo& info) {
  ApplyIsaCap();
  std::vector<Ceiling> all;
  all.push_back(Measure("fp32 fma", "FLOP/s", kRepeats, [] {
    double operations = 0;
    constexpr double kMilliseconds = 1;
    const int64_t start = NowNs();
    const double rate = ProbeFmaFlops(kMilliseconds);
    operations = rate * static_cast<double>(NowNs() - start) * 1e-9;
    return operations;
  }));
#if defined(__x86_64__)
  // What bounds products of bytes, and of bf16, is the best that the machine has.
  if (GetAmxSets().int8) {
    all.push_back(Measure("int8 dot", "OP/s", kRepeats, [&] { return RunDotAmx(5000); }));
  } else if (info.avx512_vnni) {
    int32_t sink[16];
    all.push_back(
        Measure("int8 dot", "OP/s", kRepeats, [&] { return RunDotAvx512Vnni(100000, sink); }));
  }
  if (GetAmxSets().bf16) {
    all.push_back(Measure("bf16 dot", "FLOP/s", kRepeats, [&] { return RunDotAmxBf16(5000); }));
  } else if (info.avx512_bf16) {
    float sink[16];
    all.push_back(
        Measure("bf16 dot", "FLOP/s", kRepeats, [&] { return RunDotAvx512Bf16(20000, sink); }));
  }
#endif
  const int64_t memory_bytes = std::clamp(2 * info.l3_bytes, kLeastMemory, kMostMemory);
  const Result<std::shared_ptr<std::byte>> memory = AllocateHost(memory_bytes);
  if (!memory.ok()) return all;
  std::fill_n(reinterpret_cast<float*>(memory->get()), memory_bytes / 4, 1.0f);
  const auto* floats = reinterpret_cast<const float*>(memory->get());
  if (info.l1d_bytes > 0)
    all.push_back(MeasureRead("L1 read", floats, info.l1d_bytes / 2, kRepeats));
  if (info.l2_bytes > 0) all.push_back(MeasureRead("L2 read", floats, info.l2_bytes / 2, kRepeats));
  if (info.l3_bytes > 0)
    all.push_back(MeasureRead("L3 read", floats, std::min(info.l3_bytes / 4, memory_bytes), 4));
  all.push_back(MeasureRead("DRAM read", floats, memory_bytes, 3));
  return all;
}

}  // namespace

const std::vector<Ceiling>& Probe(const CpuDevice& device) {
  static std::mutex mutex;
  static std::vector<Ceiling> all;
  std::lock_guard lock(mutex);
  if (all.empty()) all = ProbeAll(device.info());
  return all;
}

}  // namespace fettle::kernels
#endif
