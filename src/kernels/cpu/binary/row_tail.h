// From counts to floats, through the operators of a tail, to bits, all in registers.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/binary/tile.h"
#include "kernels/cpu/elementwise/program.h"

namespace fettle::kernels {

/// v = fn(v, b) of a row's columns, fn(v, b, c), or fn(v).
struct RowStep {
  elementwise::Fn fn = elementwise::Fn::kCopy;
  const float* b = nullptr;  // of the first row and column of all
  int64_t b_stride = 0;      // floats between rows
  const float* c = nullptr;
  int64_t c_stride = 0;
};

/// What a sum is where no bits differ, by the class of its pixel: each bit that differs takes one
/// from it, or two.
struct BitStarts {
  const int32_t* sums = nullptr;     // [class][stride], those of a panel side by side; null: none
  int64_t stride = 0;                // between classes
  const int32_t* classes = nullptr;  // [pixel]
  bool takes_two = false;

  const int32_t* Of(int64_t pixel) const { return sums + classes[pixel] * stride; }
};

/// Counts of bits that differ, of which `starts` makes sums: integers below 2^24.
struct RowCounts {
  int64_t pixels = 0;
  const int32_t* counts = nullptr;  // [pixel][stride]
  int64_t stride = 0;
  BitStarts starts;
  const float* scales = nullptr;  // of each column; null: all 1
};

/// Rows of pixels, `columns` outputs of each, a multiple of 32; `row` and `column` are the first.
struct RowTailArgs {
  RowCounts sums;
  int64_t row = 0, column = 0, columns = 0;
  const RowStep* steps = nullptr;
  int to_floats = 0, to_packed = 0;  // the latter behind the former
  float* y = nullptr;                // null: floats are not kept
  int64_t y_stride = 0;
  uint64_t* bits = nullptr;  // null: nothing is packed; begins a word
  int64_t bits_stride = 0;
  float low = 0, high = 0;  // not subnormal, as no value is that flushing could change
  bool invert = false;
};
/// Several rows of 64 columns at a time stay in registers.
void RunRowTail(const RowTailArgs& args);

/// The steps of an element-wise program that does one thing after the other to its running value,
/// by functions that RunRowTail has.
class RowSteps {
 public:
  /// Nothing where it is no such program. No program: no steps.
  static std::optional<RowSteps> Of(const std::optional<elementwise::Program>& program);

  int count() const { return static_cast<int>(chain_.size()); }
  const std::vector<elementwise::ChainLink>& chain() const { return chain_; }
  /// Writes count() of them.
  void Fill(const elementwise::Binding& binding, RowStep* steps) const;

 private:
  std::vector<elementwise::ChainLink> chain_;
};

}  // namespace fettle::kernels
