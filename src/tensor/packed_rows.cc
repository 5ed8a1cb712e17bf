#include "tensor/packed_rows.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/check.h"
#include "base/hash.h"

namespace fettle {
namespace {

class UnpackedRows final : public ConstantSource {
 public:
  UnpackedRows(Constant packed, const PackedRows& layout, bool transposed, bool is_signed)
      : packed_(std::move(packed)),
        layout_(layout),
        transposed_(transposed),
        sign_(is_signed ? 1U << (layout.bits - 1) : 0) {}

  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    const auto* bytes = reinterpret_cast<const uint8_t*>(packed_.bytes().data());
    const int64_t inner = transposed_ ? layout_.rows : layout_.columns;
    if (transposed_ && begin % inner == 0 && count % inner == 0)
      return CopyColumns(bytes, begin / inner, (begin + count) / inner, out);
    int64_t outer = begin / inner, at = begin % inner;
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<std::byte>(transposed_ ? Get(bytes, at, outer) : Get(bytes, outer, at));
      if (++at == inner) {
        at = 0;
        ++outer;
      }
    }
  }
  uint64_t Hash() const override {
    const int64_t form[] = {layout_.rows, layout_.columns, layout_.row_bytes,
                            layout_.bits, transposed_,     sign_};
    return HashBytes(std::as_bytes(std::span(form)), packed_.Hash());
  }
  std::span<const std::byte> raw_bytes() const override { return packed_.raw_bytes(); }

 private:
  /// Whole rows of the transposed matrix. A few rows of packed bytes at a time: their lines and
  /// those written stay in the first-level cache, however large the matrix is.
  void CopyColumns(const uint8_t* bytes, int64_t begin, int64_t end, std::byte* out) const {
    constexpr int64_t kRowsAtOnce = 8;
    for (int64_t row0 = 0; row0 < layout_.rows; row0 += kRowsAtOnce) {
      const int64_t rows = std::min(kRowsAtOnce, layout_.rows - row0);
      for (int64_t column = begin; column < end; ++column) {
        std::byte* to = out + (column - begin) * layout_.rows + row0;
        for (int64_t r = 0; r < rows; ++r)
          to[r] = static_cast<std::byte>(Get(bytes, row0 + r, column));
      }
    }
  }

  unsigned Get(const uint8_t* bytes, int64_t row, int64_t column) const {
    const int64_t bit = column * layout_.bits;
    const unsigned value =
        bytes[row * layout_.row_bytes + bit / 8] >> (bit % 8) & ((1U << layout_.bits) - 1);
    return (value ^ sign_) - sign_;
  }

  Constant packed_;
  PackedRows layout_;
  bool transposed_;
  unsigned sign_;
};

}  // namespace

Constant UnpackWhenRead(DType dtype, const Constant& packed, const PackedRows& layout,
                        bool transposed) {
  FETTLE_CHECK(
      packed.source() == nullptr && !packed.is_splat() &&
          StorageBytes(packed.dtype(), packed.elements()) == layout.rows * layout.row_bytes &&
          StorageBytes(dtype, 1) == 1,
      "packed rows of the wrong size");
  const bool is_signed = dtype == DType::kI4 || dtype == DType::kI8;
  const Shape shape =
      transposed ? Shape{layout.columns, layout.rows} : Shape{layout.rows, layout.columns};
  return Constant::Generated(dtype, shape,
                             std::make_shared<UnpackedRows>(packed, layout, transposed, is_signed));
}

Result<Tensor> PackNibbles(const Constant& constant) {
  constexpr int64_t kChunk = 4096;
  std::array<std::byte, kChunk> chunk;
  const int64_t elements = constant.elements();
  ASSIGN_OR_RETURN(Tensor packed, Tensor::Create(DType::kU8, Shape{(elements + 1) / 2}));
  for (int64_t begin = 0; begin < elements; begin += kChunk) {
    const int64_t count = std::min(kChunk, elements - begin);
    constant.CopyTo(begin, count, chunk.data());
    for (int64_t i = 0; i < count; ++i)
      packed.data()[(begin + i) / 2] |= (chunk[i] & std::byte{15}) << (i % 2 * 4);
  }
  return packed;
}

Constant FromNibbles(DType dtype, const Shape& shape, const Constant& packed) {
  const PackedRows all = {.rows = 1, .columns = shape.elements(), .row_bytes = packed.elements()};
  return UnpackWhenRead(dtype, packed, all, false).Reshaped(shape);
}

}  // namespace fettle
