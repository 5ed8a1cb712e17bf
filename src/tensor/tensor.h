// Host tensors: owning ones, immutable constants, and the strided views that the oracle reads and
// writes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace fettle {

inline constexpr size_t kTensorAlignment = 64;
/// Readable bytes behind every planned tensor, so that vector loads may run past the end.
inline constexpr size_t kTensorSlack = 64;

/// Bytes of host memory: 64-byte aligned, kTensorSlack zeroed bytes behind. Fails with
/// kOutOfMemory.
Result<std::shared_ptr<std::byte>> AllocateHost(int64_t bytes);

/// A strided window on host elements in logical axis order. Does not own; the caller keeps the
/// memory alive.
struct HostView {
  std::byte* data = nullptr;
  DType dtype = DType::kUndefined;
  Shape shape;
  Dims strides;  // in elements; 0 repeats

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  /// Element offset of a coordinate.
  int64_t Offset(std::span<const int64_t> coordinate) const {
    int64_t offset = 0;
    for (size_t i = 0; i < strides.size(); ++i) offset += coordinate[i] * strides[i];
    return offset;
  }
  bool IsDense() const { return strides == RowMajorStrides(shape); }
  /// The element at an element offset, as a double (exact up to 2^53) or as an integer.
  double GetDouble(int64_t offset) const;
  int64_t GetInt(int64_t offset) const;
  /// Stores with the type's conversion (round to nearest for floats, truncation and wrap for
  /// integers).
  void SetDouble(int64_t offset, double value) const;
  void SetInt(int64_t offset, int64_t value) const;
};

/// A row-major host tensor that shares its bytes between copies. Not synchronised.
class Tensor {
 public:
  Tensor() = default;
  /// Zero-filled. Fails with kOutOfMemory, or kInvalidArgument for shapes past kMaxElements or
  /// types without bytes.
  static Result<Tensor> Create(DType dtype, Shape shape);
  /// Over memory of the caller's, which `owner` keeps alive (may be null). Row-major, aligned to
  /// the element.
  static Tensor Borrow(DType dtype, Shape shape, std::byte* data,
                       std::shared_ptr<void> owner = nullptr);
  template <typename T>
  static Result<Tensor> FromVector(const Shape& shape, const std::vector<T>& values);

  bool empty() const { return dtype_ == DType::kUndefined; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return shape_.elements(); }
  std::byte* data() const { return data_.get(); }
  std::span<std::byte> bytes() const {
    return {data_.get(), static_cast<size_t>(StorageBytes(dtype_, elements()))};
  }
  template <typename T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(elements())};
  }
  HostView view() const { return {data_.get(), dtype_, shape_, RowMajorStrides(shape_)}; }
  /// The same bytes under another shape of equal element count.
  Tensor Reshaped(Shape shape) const;
  const std::shared_ptr<std::byte>& storage() const { return data_; }

 private:
  DType dtype_ = DType::kUndefined;
  Shape shape_;
  std::shared_ptr<std::byte> data_;
};

/// Elements that are computed whenever they are read: large constants that a rewrite made of
/// others. Immutable, thread-safe.
class ConstantSource {
 public:
  virtual ~ConstantSource() = default;
  /// Writes elements [begin, begin + count) to `out`, in the constant's type.
  virtual void CopyTo(int64_t begin, int64_t count, std::byte* out) const = 0;
  /// Of what the elements are computed from: equal hashes mean equal elements.
  virtual uint64_t Hash() const = 0;
  /// The bytes that are read.
  virtual std::span<const std::byte> raw_bytes() const = 0;
};

/// What bytes hash to, where that is known (a section of a mapped package). Immutable, thread-safe.
class ContentGuard {
 public:
  virtual ~ContentGuard() = default;
  /// HashBytes of the bytes as they should be.
  virtual uint64_t hash() const = 0;
};

/// An immutable value known when a model is loaded: a byte span (mapped, of any alignment), one
/// repeated element, or computed elements; the last two cost no memory until they are packed. Cheap
/// to copy, thread-safe.
class Constant {
 public:
  Constant() = default;
  static Constant FromBytes(DType dtype, Shape shape, std::span<const std::byte> bytes,
                            std::shared_ptr<const void> owner);
  /// The same for bytes whose hash `guard` knows.
  static Constant FromBytes(DType dtype, Shape shape, std::span<const std::byte> bytes,
                            std::shared_ptr<const void> owner,
                            std::shared_ptr<const ContentGuard> guard);
  static Constant FromTensor(const Tensor& tensor);
  /// `element` holds StorageBytes(dtype, 1) bytes.
  static Constant Splat(DType dtype, Shape shape, std::span<const std::byte> element);

  static Constant Generated(DType dtype, Shape shape, std::shared_ptr<const ConstantSource> source);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return shape_.elements(); }
  bool is_splat() const { return splat_; }
  /// Where the elements come from if they are computed; null otherwise.
  const ConstantSource* source() const { return source_.get(); }
  /// All elements, row-major, unaligned; for a splat, its one element; none where they are
  /// computed.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Where the bytes are that reading an element reads: those of bytes(), or of what it is computed
  /// from. To compare addresses and to drop pages, not to read.
  std::span<const std::byte> raw_bytes() const {
    return source_ == nullptr ? bytes_ : source_->raw_bytes();
  }
  /// Writes elements [begin, begin + count) to `out`, in the constant's own type.
  void CopyTo(int64_t begin, int64_t count, std::byte* out) const;
  /// A copy with the usual alignment. Fails with kOutOfMemory.
  Result<Tensor> ToTensor() const;
  Constant Reshaped(Shape shape) const;
  /// Content hash over type, shape and bytes; computed at each call, but for guarded bytes, which
  /// are not read.
  uint64_t Hash() const;
  /// Element `index`, converted.
  double GetDouble(int64_t index) const;
  int64_t GetInt(int64_t index) const;

 private:
  DType dtype_ = DType::kUndefined;
  Shape shape_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const ContentGuard> guard_;
  std::shared_ptr<const ConstantSource> source_;
  bool splat_ = false;
};

template <typename T>
Result<Tensor> Tensor::FromVector(const Shape& shape, const std::vector<T>& values) {
  FETTLE_CHECK(shape.elements() == static_cast<int64_t>(values.size()),
               "values do not fill the shape");
  ASSIGN_OR_RETURN(Tensor tensor, Create(DTypeOf<T>(), shape));
  for (size_t i = 0; i < values.size(); ++i) tensor.as<T>()[i] = values[i];
  return tensor;
}

}  // namespace fettle
