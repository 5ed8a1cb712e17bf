// Constants over tensors of GGUF files: read from the file's bytes whenever a kernel packs them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "importers/gguf/gguf_file.h"
#include "tensor/sixteen_bits.h"

namespace fettle::gguf {
namespace {

enum class Part { kCodes, kScales, kMinima, kFloats, kColumns };

class TensorSource final : public ConstantSource, public SixteenBitSource {
 public:
  TensorSource(TensorInfo tensor, std::shared_ptr<const void> owner, Part part, bool halves)
      : tensor_(std::move(tensor)), owner_(std::move(owner)), part_(part), halves_(halves) {}

  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    if (part_ == Part::kColumns) return CopyColumns(begin, count, out);
    const TensorType& type = *tensor_.type;
    const int64_t size = ElementBytes();
    const int64_t each = part_ == Part::kScales || part_ == Part::kMinima
                             ? type.elements / type.part
                             : type.elements;
    while (count > 0) {
      std::byte block[kMaxBlockElements * 4];
      ReadBlock(tensor_.bytes.data() + begin / each * type.bytes, block);
      const int64_t first = begin % each, some = std::min(count, each - first);
      std::memcpy(out, block + first * size, some * size);
      out += some * size;
      begin += some;
      count -= some;
    }
  }
  uint64_t Hash() const override {
    const int64_t form[] = {tensor_.rows, tensor_.columns, int64_t{tensor_.type->id},
                            static_cast<int64_t>(part_), halves_};
    return HashBytes(std::as_bytes(std::span(form)), HashBytes(std::as_bytes(tensor_.bytes)));
  }
  std::span<const std::byte> raw_bytes() const override { return std::as_bytes(tensor_.bytes); }
  DType stored_type() const override {
    if (part_ != Part::kFloats && part_ != Part::kColumns) return DType::kUndefined;
    return tensor_.type->name == "F16"    ? DType::kF16
           : tensor_.type->name == "BF16" ? DType::kBF16
                                          : DType::kUndefined;
  }
  bool lies_by_columns() const override { return part_ == Part::kColumns; }

 private:
  int64_t ElementBytes() const { return part_ == Part::kCodes ? 1 : halves_ ? 2 : 4; }

  void ReadBlock(const uint8_t* from, std::byte* out) const {
    const TensorType& type = *tensor_.type;
    auto* floats = reinterpret_cast<float*>(out);
    switch (part_) {
      case Part::kCodes: type.read(from, {.codes = reinterpret_cast<uint8_t*>(out)}); return;
      case Part::kScales: type.read(from, {.scales = floats}); break;
      case Part::kMinima: type.read(from, {.minima = floats}); break;
      default: Dequantise(type, from, 1, floats); return;
    }
    for (int64_t i = 0; halves_ && i < type.elements / type.part; ++i) {
      const Half half(floats[i]);
      std::memcpy(out + i * 2, &half, 2);
    }
  }

  /// Of [columns, rows].
  void CopyColumns(int64_t begin, int64_t count, std::byte* out) const {
    const TensorType& type = *tensor_.type;
    float block[kMaxBlockElements];
    for (int64_t i = begin; i < begin + count; ++i, out += 4) {
      const int64_t column = i / tensor_.rows, row = i % tensor_.rows;
      const uint8_t* at = tensor_.bytes.data() + row * tensor_.row_bytes();
      Dequantise(type, at + column / type.elements * type.bytes, 1, block);
      std::memcpy(out, block + column % type.elements, 4);
    }
  }

  TensorInfo tensor_;
  std::shared_ptr<const void> owner_;
  Part part_;
  bool halves_;
};

/// Whether halves hold scales and minima exactly: multiples of the step by powers of two that do
/// not pass the largest half.
bool HalvesHold(const TensorInfo& tensor) {
  const TensorType& type = *tensor.type;
  if (type.most_of_step == 0) return false;
  for (size_t at = 0; at < tensor.bytes.size(); at += type.bytes) {
    Half step;
    std::memcpy(&step, tensor.bytes.data() + at + type.step_at, sizeof(step));
    const float most = std::fabs(static_cast<float>(step)) * static_cast<float>(type.most_of_step);
    if (!(most <= 65504)) return false;
  }
  return true;
}

Constant Make(const TensorInfo& tensor, const std::shared_ptr<const void>& owner, Part part,
              DType dtype, Shape shape) {
  return Constant::Generated(
      dtype, std::move(shape),
      std::make_shared<TensorSource>(tensor, owner, part, dtype == DType::kF16));
}

}  // namespace

BlockConstants ReadBlocks(const TensorInfo& tensor, std::shared_ptr<const void> owner) {
  const TensorType& type = *tensor.type;
  const DType scales = HalvesHold(tensor) ? DType::kF16 : DType::kF32;
  const Shape parts = {tensor.rows, tensor.columns / type.part};
  return {Make(tensor, owner, Part::kCodes, type.bits == 4 ? DType::kU4 : DType::kU8,
               Shape{tensor.rows, tensor.columns}),
          Make(tensor, owner, Part::kScales, scales, parts),
          Make(tensor, owner, Part::kMinima, scales, parts)};
}

Constant ReadFloats(const TensorInfo& tensor, std::shared_ptr<const void> owner, bool transposed) {
  return transposed
             ? Make(tensor, owner, Part::kColumns, DType::kF32, Shape{tensor.columns, tensor.rows})
             : Make(tensor, owner, Part::kFloats, DType::kF32, Shape{tensor.rows, tensor.columns});
}

Constant ReadVector(const TensorInfo& tensor, std::shared_ptr<const void> owner) {
  return Make(tensor, owner, Part::kFloats, DType::kF32, Shape{tensor.columns});
}

void ReadRow(const TensorInfo& tensor, int64_t row, float* out) {
  Dequantise(*tensor.type, tensor.bytes.data() + row * tensor.row_bytes(),
             tensor.columns / tensor.type->elements, out);
}

}  // namespace fettle::gguf
