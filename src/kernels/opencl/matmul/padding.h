// Operands of a product that are copied before it, as GemmSetup says.
#pragma once

#include <memory>
#include <span>

#include "device/opencl/opencl_stream.h"
#include "kernels/opencl/gemm/algorithm.h"

namespace fettle::kernels {

/// Empty where nothing is copied. Thread-safe but for the stream.
class ProductPadding {
 public:
  ProductPadding() = default;
  /// Builds the programs that `setup` needs.
  static Result<ProductPadding> Create(const GemmSetup& setup, DType storage,
                                       const OpenClDevice& device);

  /// Of the copies together.
  int64_t bytes() const { return bytes_of_a_ + bytes_of_b_; }
  /// Enqueues the copies to `to`, a multiple of 64 bytes; `a` and `b` name them from then on.
  Status Launch(OpenClStream& stream, Location to, Location& a, Location& b) const;

 private:
  Status LaunchRows(OpenClStream& stream, const Location& to, const Location& a,
                    const Location& b) const;
  Status LaunchColumns(OpenClStream& stream, const Location& to, const Location& b) const;

  GemmSetup::Padding a_, b_;
  int64_t element_ = 1, bytes_of_a_ = 0, bytes_of_b_ = 0;
  std::shared_ptr<OpenClKernel> rows_, columns_;
};

/// To 10 bits of mantissa, to the nearest, halves away from zero; infinities and NaN stay.
void RoundToTf32(std::span<uint32_t> floats);

}  // namespace fettle::kernels
