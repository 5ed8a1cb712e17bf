// The operands of a matrix product on a device, and whether the result is right.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "kernels/opencl/gemm/rung.h"
#include "tensor/compare.h"

namespace fettle::kernels {

/// A and B on a device in the forms that rungs take, each made when it is first asked for, and C.
/// Belongs to one thread; the device and the stream outlive it.
class GemmMatrices {
 public:
  /// `a` is [batch, m, k] and `b` [batch, k, n], row-major, of the shape's storage type.
  GemmMatrices(const GemmShape& shape, Tensor a, Tensor b, const OpenClDevice& device,
               OpenClStream& stream)
      : shape_(shape),
        a_(std::move(a)),
        b_(std::move(b)),
        device_(device),
        stream_(stream),
        coordinates_(SampleCoordinates()) {}

  Result<Location> A(MatrixForm form);
  Result<Location> B(MatrixForm form);
  /// Its elements are NaN, so that what a kernel leaves out is seen.
  Result<Location> FreshC(MatrixForm form);
  /// At least `bytes` bytes.
  Result<Location> Workspace(int64_t bytes);
  /// C in the form that FreshC was asked for, [batch, m, n].
  Result<Tensor> ReadC(MatrixForm form);
  /// Compares with sums in double: all elements up to 50 M multiply-adds, else corners, borders
  /// and a seeded rest, 4096 in all.
  Difference Verify(const Tensor& c);

  const GemmShape& shape() const { return shape_; }

 private:
  struct Coordinate {
    int64_t matrix, row, column;
  };
  std::vector<Coordinate> SampleCoordinates() const;
  void FillWanted();
  Result<Location> Operand(char name, const Tensor& rows_of, int64_t rows, int64_t columns,
                           MatrixForm form);
  Result<DeviceMemory*> Memory(char name, MatrixForm form, int64_t rows, int64_t columns);

  GemmShape shape_;
  Tensor a_, b_;
  const OpenClDevice& device_;
  OpenClStream& stream_;
  std::map<std::pair<char, MatrixForm>, std::shared_ptr<DeviceMemory>> memory_;
  std::vector<Coordinate> coordinates_;
  std::vector<double> wanted_;
  double largest_ = 0;  // magnitude of the operands' elements, multiplied
};

}  // namespace fettle::kernels
