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

/// v[r * kVectors + i] of rows r, columns i * kRowLanes: integers below 2^24, each of which floats
/// hold.
template <bool is_ones, int kRows, int kVectors>
HWY_INLINE void ReadSums(const RowTailArgs& args, int64_t row, int64_t column,
                         RowV (&v)[kRows * kVectors]) {
  const RowDi d;
  const RowD df;
  const float* scales = args.scales + column;
  const int32_t* ones = args.sums.w_ones + column;
  const auto two = hn::Set(df, 2.0f);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const int32_t* differ = args.sums.OfPixel(row + r) + column;
    const int32_t* outside = args.sums.Outside(row + r) + column;
    const bool has_outside = args.sums.classes[row + r] != 0;
    const auto pairs = hn::ConvertTo(df, hn::Set(d, args.sums.pairs[row + r]));
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) {
      auto counted = hn::LoadU(d, differ + i * kRowLanes);
      RowV sum;
      if constexpr (is_ones) {
        sum = hn::ConvertTo(df, hn::Sub(hn::LoadU(d, ones + i * kRowLanes), counted));
      } else {
        if (has_outside) counted = hn::Sub(counted, hn::LoadU(d, outside + i * kRowLanes));
        sum = hn::NegMulAdd(hn::ConvertTo(df, counted), two, pairs);
      }
      v[r * kVectors + i] = hn::Mul(sum, hn::LoadU(df, scales + i * kRowLanes));
    }
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
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) {
      const auto each = hn::LoadU(df, b + i * kRowLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) v[r * kVectors + i] = f(v[r * kVectors + i], each);
    }
    return;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r, b += stride) {
#pragma GCC unroll 16
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
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) {
      const auto factor = hn::LoadU(df, b + i * kRowLanes);
      const auto addend = hn::LoadU(df, c + i * kRowLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r)
        v[r * kVectors + i] = hn::MulAdd(v[r * kVectors + i], factor, addend);
    }
    return;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r, b += step.b_stride, c += step.c_stride) {
#pragma GCC unroll 16
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
#pragma GCC unroll 16
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
#pragma GCC unroll 16
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

template <bool is_ones, int kRows, int kVectors>
HWY_INLINE void RunBlock(const RowTailArgs& args, int64_t row, int64_t column) {
  const RowD df;
  RowV v[kRows * kVectors];
  ReadSums<is_ones, kRows, kVectors>(args, row, column, v);
  RunSteps<kRows, kVectors>(args.steps, args.to_floats, row, column, v);
  if (args.y != nullptr) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      float* y = args.y + (row + r) * args.y_stride + column;
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) hn::StoreU(v[r * kVectors + i], df, y + i * kRowLanes);
    }
  }
  if (args.bits == nullptr) return;
  RunSteps<kRows, kVectors>(args.steps + args.to_floats, args.to_packed, row, column, v);
  for (int r = 0; r < kRows; ++r)
    args.bits[(row + r) * args.bits_stride + column / 64] =
        BitsOf<kVectors>(args, v + r * kVectors);
}

template <bool is_ones, int kVectors>
HWY_INLINE void RunColumns(const RowTailArgs& args, int64_t column) {
  constexpr int kRows = kVectorsAtOnce / kVectors;
  int64_t row = 0;
  for (; row + kRows <= args.sums.pixels; row += kRows)
    RunBlock<is_ones, kRows, kVectors>(args, row, column);
  for (; row < args.sums.pixels; ++row) RunBlock<is_ones, 1, kVectors>(args, row, column);
}

template <bool is_ones>
HWY_INLINE void RunAllColumns(const RowTailArgs& args) {
  int64_t column = 0;
  for (; column + 2 * kHalfWord <= args.columns; column += 2 * kHalfWord)
    RunColumns<is_ones, 2 * kHalfWord / kRowLanes>(args, column);
  if (column < args.columns) RunColumns<is_ones, kHalfWord / kRowLanes>(args, column);
}

void RunRowTailOnTarget(const RowTailArgs& args) {
  if (args.form == FloatForm::kOnes) return RunAllColumns<true>(args);
  RunAllColumns<false>(args);
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

void RowSteps::Fill(const elementwise::Binding& binding, int64_t row, int64_t column,
                    RowStep* steps) const {
  for (const elementwise::ChainLink& link : chain_) {
    RowStep step{.fn = link.fn};
    const auto at = [&](int operand, const std::array<int64_t, 2>& strides) {
      return reinterpret_cast<const float*>(binding.operands[operand]) + row * strides[0] +
             column * strides[1];
    };
    if (link.b >= 0) step.b = at(link.b, link.b_strides);
    if (link.c >= 0) step.c = at(link.c, link.c_strides);
    step.b_stride = link.b_strides[0];
    step.c_stride = link.c_strides[0];
    *steps++ = step;
  }
}

}  // namespace fettle::kernels
#endif
