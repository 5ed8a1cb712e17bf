#include "kernels/cpu/binary/row_tail.h"

#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary/row_tail.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using elementwise::Fn;

using RowD = hn::ScalableTag<float>;
using RowDi = hn::ScalableTag<int32_t>;
using RowV = hn::Vec<RowD>;
constexpr int kRowLanes = HWY_LANES(float);
constexpr int kHalfWord = 32;
/// Vectors that stay in registers beside what they meet.
constexpr int kVectorsAtOnce = kRowLanes >= 16 ? 16 : 2 * kHalfWord / kRowLanes;
/// Turns of loops over vectors and rows that are code of their own: what hardly any processor runs
/// is short.
constexpr int kUnroll = HWY_TARGET == HWY_SCALAR ? 1 : 16;

/// Keeps the compiler from giving each of the loads behind `at` an address of its own.
template <typename T>
HWY_INLINE const T* Address(const T* at) {
  asm("" : "+r"(at));
  return at;
}

/// v[r * kVectors + i] of rows r, columns i * kRowLanes.
template <int kRows, int kVectors>
HWY_INLINE void ReadSums(const RowCounts& sums, int64_t row, int64_t column,
                         RowV (&v)[kRows * kVectors]) {
  const RowDi d;
  const RowD df;
  const int doubled = sums.starts.takes_two ? 1 : 0;
  const int32_t* counts = sums.counts + row * sums.stride + column;
#pragma GCC unroll kUnroll
  for (int r = 0; r < kRows; ++r, counts += sums.stride) {
    counts = Address(counts);
    const int32_t* starts = Address(sums.starts.Of(row + r) + column);
#pragma GCC unroll kUnroll
    for (int i = 0; i < kVectors; ++i) {
      const auto taken = hn::ShiftLeftSame(hn::LoadU(d, counts + i * kRowLanes), doubled);
      const auto sum = hn::Sub(hn::LoadU(d, starts + i * kRowLanes), taken);
      v[r * kVectors + i] = hn::ConvertTo(df, sum);
    }
  }
  if (sums.scales == nullptr) return;
  const float* scales = Address(sums.scales + column);
#pragma GCC unroll kUnroll
  for (int i = 0; i < kVectors; ++i) {
    const auto scale = hn::LoadU(df, scales + i * kRowLanes);
#pragma GCC unroll kUnroll
    for (int r = 0; r < kRows; ++r) v[r * kVectors + i] = hn::Mul(v[r * kVectors + i], scale);
  }
}

/// Numbers of each column are read once for all rows.
template <int kRows, int kVectors, typename F>
HWY_INLINE void ForEach(const RowStep& step, int64_t row, int64_t column,
                        RowV (&v)[kRows * kVectors], F&& f) {
  const RowD df;
  const float* b = step.b + row * step.b_stride + column;
  const int64_t stride = step.b_stride;
  if (stride == 0) {
#pragma GCC unroll kUnroll
    for (int i = 0; i < kVectors; ++i) {
      const auto each = hn::LoadU(df, b + i * kRowLanes);
#pragma GCC unroll kUnroll
      for (int r = 0; r < kRows; ++r) v[r * kVectors + i] = f(v[r * kVectors + i], each);
    }
    return;
  }
#pragma GCC unroll kUnroll
  for (int r = 0; r < kRows; ++r, b += stride) {
#pragma GCC unroll kUnroll
    for (int i = 0; i < kVectors; ++i)
      v[r * kVectors + i] = f(v[r * kVectors + i], hn::LoadU(df, b + i * kRowLanes));
  }
}

template <int kRows, int kVectors>
HWY_INLINE void MulAddEach(const RowStep& step, int64_t row, int64_t column,
                           RowV (&v)[kRows * kVectors]) {
  const RowD df;
  const float* b = step.b + row * step.b_stride + column;
  const float* c = step.c + row * step.c_stride + column;
  if (step.b_stride == 0 && step.c_stride == 0) {
#pragma GCC unroll kUnroll
    for (int i = 0; i < kVectors; ++i) {
      const auto factor = hn::LoadU(df, b + i * kRowLanes);
      const auto addend = hn::LoadU(df, c + i * kRowLanes);
#pragma GCC unroll kUnroll
      for (int r = 0; r < kRows; ++r)
        v[r * kVectors + i] = hn::MulAdd(v[r * kVectors + i], factor, addend);
    }
    return;
  }
#pragma GCC unroll kUnroll
  for (int r = 0; r < kRows; ++r, b += step.b_stride, c += step.c_stride) {
#pragma GCC unroll kUnroll
    for (int i = 0; i < kVectors; ++i) {
      v[r * kVectors + i] = hn::MulAdd(v[r * kVectors + i], hn::LoadU(df, b + i * kRowLanes),
                                       hn::LoadU(df, c + i * kRowLanes));
    }
  }
}

template <int kRows, int kVectors>
HWY_INLINE void RunSteps(const RowStep* steps, int count, int64_t row, int64_t column,
                         RowV (&v)[kRows * kVectors]) {
  const auto each = [&](const RowStep& step, auto f)
                        HWY_ATTR { ForEach<kRows, kVectors>(step, row, column, v, f); };
  for (int i = 0; i < count; ++i) {
    const RowStep& step = steps[i];
    switch (step.fn) {
      case Fn::kMulAdd: MulAddEach<kRows, kVectors>(step, row, column, v); break;
      case Fn::kAdd: each(step, [](RowV a, RowV b) HWY_ATTR { return hn::Add(a, b); }); break;
      case Fn::kSub: each(step, [](RowV a, RowV b) HWY_ATTR { return hn::Sub(a, b); }); break;
      case Fn::kMul: each(step, [](RowV a, RowV b) HWY_ATTR { return hn::Mul(a, b); }); break;
      case Fn::kPRelu:
        each(step, [](RowV a, RowV b) HWY_ATTR {
          return hn::IfThenElse(hn::Lt(a, hn::Zero(RowD())), hn::Mul(a, b), a);
        });
        break;
      case Fn::kRelu:
#pragma GCC unroll kUnroll
        for (RowV& one : v)
          one = hn::IfThenElse(hn::Lt(one, hn::Zero(RowD())), hn::Zero(RowD()), one);
        break;
      default: break;  // RowSteps::Of lets none through
    }
  }
}

/// The bits of kVectors vectors, the first column's lowest.
template <int kVectors>
HWY_INLINE uint64_t BitsOf(const RowTailArgs& args, const RowV* v) {
  const RowD df;
  const auto low = hn::Set(df, args.low), high = hn::Set(df, args.high);
  const bool has_upper = args.high != std::numeric_limits<float>::infinity();
  uint64_t word = 0;
#pragma GCC unroll kUnroll
  for (int i = 0; i < kVectors; ++i) {
    auto within = hn::Ge(v[i], low);
    if (has_upper) within = hn::And(within, hn::Le(v[i], high));
    uint64_t some = 0;
#if HWY_TARGET <= HWY_AVX3
    some = static_cast<uint64_t>(within.raw);
#else
    uint8_t stored[8] = {};
    hn::StoreMaskBits(df, within, stored);
    std::memcpy(&some, stored, sizeof some);
    some &= (uint64_t{1} << kRowLanes) - 1;
#endif
    word |= some << (i * kRowLanes);
  }
  constexpr int kBits = kVectors * kRowLanes;
  constexpr uint64_t kAll = ~uint64_t{0} >> (64 - kBits);
  return args.invert ? ~word & kAll : word;
}

template <int kRows, int kVectors>
HWY_INLINE void RunBlock(const RowTailArgs& args, int64_t row, int64_t column) {
  const RowD df;
  RowV v[kRows * kVectors];
  ReadSums<kRows, kVectors>(args.sums, row, column, v);
  const int64_t at_row = args.row + row, at_column = args.column + column;
  RunSteps<kRows, kVectors>(args.steps, args.to_floats, at_row, at_column, v);
  if (args.y != nullptr) {
#pragma GCC unroll kUnroll
    for (int r = 0; r < kRows; ++r) {
      float* y = args.y + (row + r) * args.y_stride + column;
#pragma GCC unroll kUnroll
      for (int i = 0; i < kVectors; ++i) hn::StoreU(v[r * kVectors + i], df, y + i * kRowLanes);
    }
  }
  if (args.bits == nullptr) return;
  RunSteps<kRows, kVectors>(args.steps + args.to_floats, args.to_packed, at_row, at_column, v);
  for (int r = 0; r < kRows; ++r)
    args.bits[(row + r) * args.bits_stride + column / 64] =
        BitsOf<kVectors>(args, v + r * kVectors);
}

template <int kVectors>
HWY_INLINE void RunColumns(const RowTailArgs& args, int64_t column) {
  constexpr int kRows = kVectorsAtOnce / kVectors;
  int64_t row = 0;
  for (; row + kRows <= args.sums.pixels; row += kRows)
    RunBlock<kRows, kVectors>(args, row, column);
  for (; row < args.sums.pixels; ++row) RunBlock<1, kVectors>(args, row, column);
}

void RunRowTailOnTarget(const RowTailArgs& args) {
  int64_t column = 0;
  for (; column + 2 * kHalfWord <= args.columns; column += 2 * kHalfWord)
    RunColumns<2 * kHalfWord / kRowLanes>(args, column);
  if (column < args.columns) RunColumns<kHalfWord / kRowLanes>(args, column);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RunRowTailOnTarget);

void RunRowTail(const RowTailArgs& args) { HWY_DYNAMIC_DISPATCH(RunRowTailOnTarget)(args); }

std::optional<RowSteps> RowSteps::Of(const std::optional<elementwise::Program>& program) {
  using elementwise::Fn;
  RowSteps steps;
  if (!program) return steps;
  auto chain = program->Chain();
  if (!chain) return std::nullopt;
  for (const elementwise::ChainLink& link : *chain) {
    const bool is_known = link.fn == Fn::kMulAdd || link.fn == Fn::kAdd || link.fn == Fn::kSub ||
                          link.fn == Fn::kMul || link.fn == Fn::kPRelu || link.fn == Fn::kRelu;
    if (!is_known || (link.fn == Fn::kMulAdd) != (link.c >= 0)) return std::nullopt;
  }
  steps.chain_ = *std::move(chain);
  return steps;
}

void RowSteps::Fill(const elementwise::Binding& binding, RowStep* steps) const {
  for (const elementwise::ChainLink& link : chain_) {
    RowStep step{.fn = link.fn};
    const auto at = [&](int operand) {
      return reinterpret_cast<const float*>(binding.operands[operand]);
    };
    if (link.b >= 0) step.b = at(link.b);
    if (link.c >= 0) step.c = at(link.c);
    step.b_stride = link.b_strides[0];
    step.c_stride = link.c_strides[0];
    *steps++ = step;
  }
}

}  // namespace fettle::kernels
#endif
