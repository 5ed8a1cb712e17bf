// Comparing a result with its reference: the one place where tolerances are written down.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tensor/tensor.h"

namespace fettle {

/// |got - want| <= atol + rtol * |want|; NaN equals NaN, an infinity equals itself.
struct Tolerance {
  double atol = 0;
  double rtol = 0;
};

/// What a kernel that stores `storage` and accumulates `length` products may lose against the
/// oracle. `magnitude`: the largest sum of absolute products that the data can give (1 for
/// element-wise work). Source: error of a sum of n rounded terms grows with sqrt(n) at random
/// signs; the factor 4 is the safety margin.
Tolerance KernelTolerance(DType storage, int64_t length, double magnitude = 1.0);

/// How far `got` is from `want`, over all elements.
struct Difference {
  int64_t elements = 0;
  int64_t bad = 0;         // outside the tolerance
  int64_t first_bad = -1;  // row-major index
  double max_abs = 0;
  double max_rel = 0;
  double sqnr_db = 0;  // signal to quantisation noise; infinity where equal
  double cosine = 1;
  double want_min = 0, want_max = 0;  // range of the finite reference values
  double want_at_first_bad = 0, got_at_first_bad = 0;

  bool ok() const { return bad == 0; }
  /// "3 of 100 elements differ; first at 1x2x0: expected 1.5, got 2".
  std::string ToString(const Shape& shape) const;
};

/// Collects a Difference piece by piece.
class Comparison {
 public:
  explicit Comparison(const Tolerance& tolerance);
  /// Elements `first`, first + 1 ... of the tensors.
  void Add(int64_t first, std::span<const double> got, std::span<const double> want);
  Difference Finish() const;

 private:
  Tolerance tolerance_;
  Difference difference_;
  double signal_ = 0, noise_ = 0, dot_ = 0, got_norm_ = 0;
};

/// Compares two views of equal shape. Types may differ; values are compared as doubles.
Difference Compare(const HostView& got, const HostView& want, const Tolerance& tolerance);

}  // namespace fettle
