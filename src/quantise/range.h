// Which numbers a quantised tensor can hold: ranges of what was seen, and the scale and zero point
// that stand for them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/dtype.h"

namespace fettle::quantise {

struct Range {
  double low = 0, high = 0;
  bool operator==(const Range&) const = default;
};

/// Counts of values in bins of equal width over a range. Not synchronised.
class Histogram {
 public:
  static constexpr int kBins = 2048;

  Histogram() = default;
  explicit Histogram(Range range);
  /// Adds finite values; those outside of the range count in the outermost bins.
  void Add(std::span<const float> values);
  Range range() const { return range_; }
  int64_t total() const;
  const std::vector<int64_t>& counts() const { return counts_; }
  /// The middle of a bin.
  double Centre(int bin) const;

 private:
  Range range_;
  double width_ = 0;
  std::vector<int64_t> counts_;
};

/// real = scale * (integer - zero_point), integers from `low` to `high`.
struct Grid {
  float scale = 1;
  int32_t zero_point = 0;
  int32_t low = 0, high = 255;

  int32_t Quantise(double real) const;
  double Dequantise(int32_t integer) const {
    return static_cast<double>(scale) * (integer - zero_point);
  }
  bool operator==(const Grid&) const = default;
};

/// The grid of u8 or i8 over `range`, widened to hold 0, which a grid point always is: padding and
/// ReLU depend on it.
Grid GridOver(Range range, DType dtype);

/// How a range follows from what was seen.
enum class RangeMethod { kMinMax, kPercentile, kMse };
Result<RangeMethod> RangeMethodFromName(std::string_view name);
std::vector<std::string> RangeMethodNames();

/// kMinMax: all that was seen. kPercentile: without the (100 - percentile) % of the values at
/// either end. kMse: that whose grid of `dtype` has the least mean square error on the histogram,
/// of 64 shrunk ends on either side (Banner et al., Post training 4-bit quantization of
/// convolutional networks, 2019, by search in place of a fitted distribution).
Range ChooseRange(const Histogram& seen, RangeMethod method, double percentile, DType dtype);

}  // namespace fettle::quantise
