// compiled: by hand
#include "kernels/cpu/conv/plane_sums.h"

#include <algorithm>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv/plane_sums.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd/clamp-inl.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON;

/// Lines of so many planes are more than prefetchers follow; how far ahead they are asked for,
/// where blocks are so small that a line lasts for several.
constexpr int64_t kManyLines = 32, kAhead = 64;
constexpr bool kAsks = HWY_TARGET == HWY_AVX2;

/// Vectors of pixels whose sums for `outputs` planes stay in registers.
constexpr int VectorsFor(int outputs) {
  if (HWY_TARGET == HWY_SCALAR) return 1;
  if (outputs < 4) return kManyRegisters ? 8 : 4;
  return outputs == 4 ? (kManyRegisters ? 4 : 3) : (kManyRegisters ? 24 : 12) / outputs;
}

/// Sums of kOutputs planes and kVectors vectors of pixels from pixel `at` on. Without kWhole
/// vectors that would end behind the last pixel end with it; one vector alone is the part that is
/// left.
template <int kOutputs, int kVectors, bool kWhole>
HWY_INLINE void RunBlock(const PlaneArgs& args, int64_t at) {
  const int64_t left = args.count - at;
  const bool is_part = !kWhole && kVectors == 1 && left < kLanes;
  int64_t from[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    from[v] = v * kLanes;
    if (!kWhole && !is_part) from[v] = std::min(from[v], left - kLanes);
  }
  V sums[kOutputs][kVectors];
  for (int o = 0; o < kOutputs; ++o)
    for (int v = 0; v < kVectors; ++v) sums[o][v] = hn::Set(D(), args.bias[o]);
  const int64_t ahead = kAsks && args.num_lines >= kManyLines ? kAhead : 0;
  for (const PlaneLine* line = args.lines; line != args.lines + args.num_lines; ++line) {
    const float* w = args.weights + line->index * args.taps * kOutputs;
    for (int64_t t = 0; t < args.taps; ++t, w += kOutputs) {
      const float* x = line->x + at + args.offsets[t];
      if constexpr (kAsks && kWhole) __builtin_prefetch(x + ahead, 0, 2);
      V pixels[kVectors];
      for (int v = 0; v < kVectors; ++v)
        pixels[v] = is_part ? LoadFirst(D(), left, x) : hn::LoadU(D(), x + from[v]);
      for (int o = 0; o < kOutputs; ++o) {
        const V weight = hn::Set(D(), w[o]);
        for (int v = 0; v < kVectors; ++v) sums[o][v] = hn::MulAdd(pixels[v], weight, sums[o][v]);
      }
    }
  }
  const V low = hn::Set(D(), args.low), high = hn::Set(D(), args.high);
  float* out = args.out + at;
  for (int o = 0; o < kOutputs; ++o, out += args.plane) {
    if (o == args.outputs) break;
    for (int v = 0; v < kVectors; ++v) {
      const V y = ClampOrNan(sums[o][v], low, high);
      if (is_part) {
        StoreFirst(D(), y, left, out);
      } else {
        hn::StoreU(y, D(), out + from[v]);
      }
    }
  }
}

/// What is left from pixel `at` on, in one block: a few pixels are computed twice rather than few
/// sums wait for each other.
template <int kOutputs, int kVectors>
void RunRest(const PlaneArgs& args, int64_t at) {
  if constexpr (kVectors > 1) {
    constexpr int kFewer = kVectors == 3 ? 2 : kVectors / 2;
    if (args.count - at <= kFewer * kLanes || args.count < kLanes)
      return RunRest<kOutputs, kFewer>(args, at);
  }
  if (at < args.count) RunBlock<kOutputs, kVectors, false>(args, at);
}

template <int kOutputs>
void RunOutputs(const PlaneArgs& args) {
  constexpr int kVectors = VectorsFor(kOutputs);
  int64_t at = 0;
  for (; at + kVectors * kLanes <= args.count; at += kVectors * kLanes)
    RunBlock<kOutputs, kVectors, true>(args, at);
  RunRest<kOutputs, kVectors>(args, at);
}

void RunPlanes(const PlaneArgs& args) {
  switch (PlaneBlock(args.outputs)) {
    case 1: return RunOutputs<1>(args);
    case 2: return RunOutputs<2>(args);
    case 3: return RunOutputs<3>(args);
    case 4: return RunOutputs<4>(args);
    case 6: return RunOutputs<6>(args);
    default:
      if constexpr (kManyRegisters) RunOutputs<8>(args);
  }
}

/// Vectors of every kStride-th element; returns how many elements are done. Reads whole vectors of
/// the `inside` elements alone.
template <int kStride>
int64_t CopyEvery(const float* in, int64_t inside, int64_t count, float* out) {
  int64_t i = 0;
  for (; i + kLanes <= count && (i + kLanes) * kStride <= inside;
       i += kLanes, in += kLanes * kStride) {
    V a, b, c, d;
    if constexpr (kStride == 1) a = hn::LoadU(D(), in);
    if constexpr (kStride == 2) hn::LoadInterleaved2(D(), in, a, b);
    if constexpr (kStride == 3) hn::LoadInterleaved3(D(), in, a, b, c);
    if constexpr (kStride == 4) hn::LoadInterleaved4(D(), in, a, b, c, d);
    hn::StoreU(a, D(), out + i);
  }
  return i;
}

void CopyPart(const PartArgs& args) {
  // Elements [begin, end) lie in the line.
  const auto reach = [&](int64_t at) {
    int64_t steps = std::max<int64_t>(at - args.first, 0);
    if (args.stride > 1) steps = (steps + args.stride - 1) / args.stride;
    return std::min(steps, args.count);
  };
  const int64_t begin = reach(0), end = std::max(reach(args.width), begin);
  const int64_t first = args.first + begin * args.stride, count = end - begin;
  const int64_t inside = args.width - first;
  for (int64_t line = 0; line < args.num_lines; ++line) {
    float* out = args.out + line * args.out_step;
    for (int64_t i = 0; i < begin; ++i) out[i] = 0.0f;
    for (int64_t i = end; i < args.count; ++i) out[i] = 0.0f;
    const float* in = args.line + line * args.line_step + first;
    out += begin;
    int64_t i = 0;
    if (args.stride == 1) i = CopyEvery<1>(in, inside, count, out);
    if (args.stride == 2) i = CopyEvery<2>(in, inside, count, out);
    if (args.stride == 3) i = CopyEvery<3>(in, inside, count, out);
    if (args.stride == 4) i = CopyEvery<4>(in, inside, count, out);
    if (args.stride == 1 && i < count) {
      StoreFirst(D(), LoadFirst(D(), count - i, in + i), count - i, out + i);
      continue;
    }
    for (; i < count; ++i) out[i] = in[i * args.stride];
  }
}

void Fill(float value, int64_t count, float* out) {
  const V v = hn::Set(D(), value);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(v, D(), out + i);
  if (i < count) StoreFirst(D(), v, count - i, out + i);
}

/// A vector of each of kRows rows, `get` of its first element, side by side: kMissing rows are
/// `rest`.
template <int kRows, int kMissing, typename Get>
HWY_INLINE void JoinVectors(const Get& get, const float* in, int64_t pitch, V rest, float* out) {
  V rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = r < kRows - kMissing ? get(in + r * pitch) : rest;
  if constexpr (kRows == 2) hn::StoreInterleaved2(rows[0], rows[1], D(), out);
  if constexpr (kRows == 3) hn::StoreInterleaved3(rows[0], rows[1], rows[2], D(), out);
  if constexpr (kRows == 4) hn::StoreInterleaved4(rows[0], rows[1], rows[2], rows[3], D(), out);
}

template <int kRows, int kMissing>
void JoinRows(const PhaseRows& args) {
  int64_t i = 0;
  const int64_t room = std::max(args.room, args.count);
  const V rest = hn::Set(D(), args.rest);
  for (; i * kRows < args.count && (i + kLanes) * kRows <= room; i += kLanes)
    JoinVectors<kRows, kMissing>([](const float* in) HWY_ATTR { return hn::LoadU(D(), in); },
                                 args.rows + i, args.pitch, rest, args.out + i * kRows);
  const int64_t left = args.count - i * kRows;
  if (left <= 0) return;
  const int64_t of_row = (left + kRows - 1) / kRows;
  alignas(64) float joined[kRows * kLanes];
  JoinVectors<kRows, kMissing>([&](const float* in) HWY_ATTR { return LoadFirst(D(), of_row, in); },
                               args.rows + i, args.pitch, rest, joined);
  float* const out = args.out + i * kRows;
  for (int64_t j = 0; j < left; j += kLanes) {
    const V y = hn::Load(D(), joined + j);
    if (left - j >= kLanes) {
      hn::StoreU(y, D(), out + j);
    } else {
      StoreFirst(D(), y, left - j, out + j);
    }
  }
}

template <int kRows>
void JoinRowsOf(const PhaseRows& args) {
  if (args.missing == 0) return JoinRows<kRows, 0>(args);
  if (args.missing == 1) return JoinRows<kRows, 1>(args);
  if constexpr (kRows >= 3) {
    if (args.missing == 2) return JoinRows<kRows, 2>(args);
  }
  if constexpr (kRows == 4) JoinRows<kRows, 3>(args);
}

void JoinPhases(const PhaseRows& args) {
  switch (args.num_rows) {
    case 2: return JoinRowsOf<2>(args);
    case 3: return JoinRowsOf<3>(args);
    case 4: return JoinRowsOf<4>(args);
    default: break;
  }
  if (args.missing > 0) Fill(args.rest, args.count, args.out);
  for (int64_t r = 0; r < args.num_rows - args.missing; ++r) {
    for (int64_t i = 0; i * args.num_rows + r < args.count; ++i)
      args.out[i * args.num_rows + r] = args.rows[r * args.pitch + i];
  }
}

/// What is written behind a row, the next one overwrites.
void DropColumns(const NarrowedRows& args) {
  const float* const end = args.out + args.num_rows * args.width;
  const float* in = args.rows;
  float* out = args.out;
  for (int64_t r = 0; r < args.num_rows; ++r, in += args.pitch, out += args.width) {
    for (int64_t i = 0; i < args.width; i += kLanes) {
      const V v = hn::LoadU(D(), in + i);
      if (end - (out + i) >= kLanes) {
        hn::StoreU(v, D(), out + i);
      } else {
        StoreFirst(D(), v, end - (out + i), out + i);
      }
    }
  }
}

void AddLines(const AddedLines& args) {
  const float* const end = args.out + args.room;
  const int64_t whole = args.count / kLanes * kLanes, left = args.count - whole;
  const auto add = [&](const float* in, float* out) HWY_ATTR {
    for (int64_t j = 0; j < whole; j += kLanes)
      hn::StoreU(hn::Add(hn::LoadU(D(), out + j), hn::LoadU(D(), in + j)), D(), out + j);
    if (left == 0) return;
    if (end - (out + whole) >= kLanes) {
      const V rest = LoadFirst(D(), left, in + whole);
      hn::StoreU(hn::Add(hn::LoadU(D(), out + whole), rest), D(), out + whole);
    } else {
      for (int64_t j = whole; j < args.count; ++j) out[j] += in[j];
    }
  };
  for (int64_t plane = 0; plane < args.num_planes; ++plane) {
    for (int64_t line = 0; line < args.num_lines; ++line)
      add(args.in + plane * args.in_plane + line * args.in_step,
          args.out + plane * args.out_plane + line * args.out_step);
  }
}

const PlaneKernels* PlaneKernelsOf() {
  static constexpr PlaneKernels kKernels{
      kLanes, kManyRegisters ? 8 : 6, RunPlanes, CopyPart, JoinPhases, DropColumns, AddLines, Fill};
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(PlaneKernelsOf);

int64_t PlaneBlock(int64_t outputs) { return outputs <= 4 ? outputs : outputs + outputs % 2; }

const PlaneKernels& GetPlaneKernels() {
  ApplyIsaCap();
  return *HWY_DYNAMIC_DISPATCH(PlaneKernelsOf)();
}

}  // namespace fettle::kernels
#endif
