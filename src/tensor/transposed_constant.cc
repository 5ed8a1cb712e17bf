#include "tensor/transposed_constant.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"

namespace fettle {
namespace {

class TransposedElements final : public ConstantSource {
 public:
  TransposedElements(Constant base, Shape shape, std::vector<int64_t> strides)
      : base_(std::move(base)),
        shape_(std::move(shape)),
        strides_(std::move(strides)),
        bytes_(StorageBytes(base_.dtype(), 1)) {}

  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    const std::byte* stored = base_.bytes().data();
    const int last = shape_.rank() - 1;
    const int64_t row = shape_[last], step = strides_.back() * bytes_;
    for (int64_t done = 0; done < count;) {
      const int64_t column = (begin + done) % row, taken = std::min(row - column, count - done);
      const std::byte* from = stored + RowOffset((begin + done) / row) * bytes_ + column * step;
      CopyRow(from, step, taken, out + done * bytes_);
      done += taken;
    }
  }

  uint64_t Hash() const override {
    return HashBytes(std::as_bytes(std::span<const int64_t>(strides_)), base_.Hash());
  }
  std::span<const std::byte> raw_bytes() const override { return base_.raw_bytes(); }

 private:
  /// Elements of the base before the first one of row `row`, counted over all axes but the last.
  int64_t RowOffset(int64_t row) const {
    int64_t offset = 0;
    for (int axis = shape_.rank() - 2; axis >= 0; --axis) {
      offset += row % shape_[axis] * strides_[axis];
      row /= shape_[axis];
    }
    return offset;
  }

  void CopyRow(const std::byte* from, int64_t step, int64_t count, std::byte* out) const {
    switch (bytes_) {
      case 1: return CopyElements<1>(from, step, count, out);
      case 2: return CopyElements<2>(from, step, count, out);
      case 4: return CopyElements<4>(from, step, count, out);
      case 8: return CopyElements<8>(from, step, count, out);
      default:
        for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * bytes_, from + i * step, bytes_);
    }
  }

  template <size_t kBytes>
  static void CopyElements(const std::byte* from, int64_t step, int64_t count, std::byte* out) {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(out + i * static_cast<int64_t>(kBytes), from + i * step, kBytes);
  }

  Constant base_;
  Shape shape_;
  std::vector<int64_t> strides_;  // of the base, by axes of the result
  int64_t bytes_;                 // of an element
};

}  // namespace

bool HasWholeBytes(DType dtype) { return StorageBytes(dtype, 2) == 2 * StorageBytes(dtype, 1); }

Constant Transposed(const Constant& base, const std::vector<int>& perm) {
  const Shape& from = base.shape();
  FETTLE_CHECK(static_cast<int>(perm.size()) == from.rank() && from.rank() > 0 &&
                   base.source() == nullptr && !base.is_splat() && HasWholeBytes(base.dtype()),
               "a constant that cannot be transposed as it is read");
  Dims dims;
  std::vector<int64_t> strides;
  for (const int axis : perm) {
    dims.push_back(from[axis]);
    strides.push_back(from.Count(axis + 1, from.rank()));
  }
  const Shape shape(dims);
  return Constant::Generated(base.dtype(), shape,
                             std::make_shared<TransposedElements>(base, shape, strides));
}

}  // namespace fettle
