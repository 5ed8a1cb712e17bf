// What OpenCL kernels' Launch functions share.
#pragma once

#include <vector>

#include "device/opencl/opencl_stream.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// The arguments of a launch, in the order of the kernel function's parameters.
class ArgList {
 public:
  ArgList() { args_.reserve(16); }
  /// A memory object and its offset as an int in units of `unit_bytes`: TENSOR_IN and TENSOR_OUT of
  /// access.clh, where a unit is a pixel of four elements; or a row-major operand and an element.
  ArgList& Tensor(const Location& location, int64_t unit_bytes) {
    args_.emplace_back(static_cast<cl_mem>(location.base));
    args_.emplace_back(static_cast<cl_int>(location.offset / unit_bytes));
    return *this;
  }
  ArgList& Memory(const Location& location) {
    args_.emplace_back(static_cast<cl_mem>(location.base));
    return *this;
  }
  template <typename T>
  ArgList& Value(const T& value) {
    args_.emplace_back(value);
    return *this;
  }
  ArgList& Append(const KernelArg& arg) {
    args_.push_back(arg);
    return *this;
  }
  std::span<const KernelArg> args() const { return args_; }

 private:
  std::vector<KernelArg> args_;
};

inline int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline cl_int2 Int2(int64_t x, int64_t y) {
  return {{static_cast<cl_int>(x), static_cast<cl_int>(y)}};
}
inline cl_int4 Int4(int64_t x, int64_t y, int64_t z, int64_t w) {
  return {{static_cast<cl_int>(x), static_cast<cl_int>(y), static_cast<cl_int>(z),
           static_cast<cl_int>(w)}};
}

/// Bytes of a pixel of four elements.
inline int64_t PixelBytes(DType storage) { return StorageBytes(storage, 4); }

inline OpenClStream& OpenClStreamOf(const LaunchArgs& args) {
  return static_cast<OpenClStream&>(args.stream);
}
inline const OpenClDevice& AsOpenCl(const Device& device) {
  return static_cast<const OpenClDevice&>(device);
}

}  // namespace fettle::kernels
