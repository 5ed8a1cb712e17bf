// Constants over tensors of GGUF files: read from the file's bytes whenever a kernel packs them.
#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "base/hash.h"
#include "importers/gguf/gguf_file.h"
#include "tensor/block_source.h"
#include "tensor/sixteen_bits.h"

namespace fettle::gguf {
namespace {

enum class Part { kCodes, kScales, kMinima, kFloats, kColumns };

/// What constants over one tensor share: its bytes are hashed once.
class TensorBytes {
 public:
  TensorBytes(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  uint64_t hash() const {
    std::call_once(once_, [this] { hash_ = HashBytes(std::as_bytes(bytes_)); });
    return hash_;
  }

 private:
  std::span<const uint8_t> bytes_;
  std::shared_ptr<const void> owner_;
  mutable std::once_flag once_;
  mutable uint64_t hash_ = 0;
};
using SharedBytes = std::shared_ptr<const TensorBytes>;

class TensorSource final : public ConstantSource, public SixteenBitSource, public BlockSource {
 public:
  TensorSource(TensorInfo tensor, SharedBytes bytes, Part part, bool halves)
      : tensor_(std::move(tensor)), bytes_(std::move(bytes)), part_(part), halves_(halves) {}

  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    if (part_ == Part::kColumns) return CopyColumns(begin, count, out);
    const TensorType& type = *tensor_.type;
    if (const int64_t at = StoredHalfAt(); at >= 0) {
      const uint8_t* from = tensor_.bytes.data() + begin * type.bytes + at;
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(out + i * sizeof(Half), from + i * type.bytes, sizeof(Half));
      return;
    }
    const int64_t size = ElementBytes();
    const int64_t each = part_ == Part::kScales || part_ == Part::kMinima
                             ? type.elements / type.part
                             : type.elements;
    const uint8_t* from = tensor_.bytes.data() + begin / each * type.bytes;
    for (int64_t first = begin % each; count > 0; from += type.bytes, first = 0) {
      const int64_t some = std::min(count, each - first);
      if (some == each) {
        ReadBlock(from, out);
      } else {
        std::byte block[kMaxBlockElements * 4];
        ReadBlock(from, block);
        std::memcpy(out, block + first * size, some * size);
      }
      out += some * size;
      count -= some;
    }
  }
  uint64_t Hash() const override {
    const int64_t form[] = {tensor_.rows, tensor_.columns, int64_t{tensor_.type->id},
                            static_cast<int64_t>(part_), halves_};
    return HashBytes(std::as_bytes(std::span(form)), bytes_->hash());
  }
  std::span<const std::byte> raw_bytes() const override { return std::as_bytes(tensor_.bytes); }
  DType stored_type() const override {
    if (part_ != Part::kFloats && part_ != Part::kColumns) return DType::kUndefined;
    return tensor_.type->name == "F16"    ? DType::kF16
           : tensor_.type->name == "BF16" ? DType::kBF16
                                          : DType::kUndefined;
  }
  bool lies_by_columns() const override { return part_ == Part::kColumns; }
  int code_bits() const override { return part_ == Part::kCodes ? tensor_.type->code_bits : 0; }
  float times_scale() const override {
    return part_ == Part::kMinima ? tensor_.type->times_scale : 0;
  }
  int64_t numbers_of_step() const override {
    const TensorType& type = *tensor_.type;
    const bool has_steps = type.bits != 0 && type.most_of_step == 0;
    return has_steps && (part_ == Part::kScales || part_ == Part::kMinima)
               ? type.elements / type.part
               : 0;
  }
  void CopySteps(int64_t begin, int64_t count, Half* steps, int8_t* numbers) const override {
    const TensorType& type = *tensor_.type;
    const int64_t at = type.step_at + (part_ == Part::kMinima ? sizeof(Half) : 0);
    const Half one(1.0F);
    for (int64_t i = begin; i < begin + count; ++i, ++steps) {
      uint8_t block[kMaxBlockElements];
      std::memcpy(block, tensor_.bytes.data() + i * type.bytes, type.bytes);
      std::memcpy(steps, block + at, sizeof(Half));
      std::memcpy(block + at, &one, sizeof(Half));  // what is read then is the numbers
      float whole[kMaxBlockElements / 16];
      ReadPart(block, reinterpret_cast<std::byte*>(whole));
      numbers = std::transform(whole, whole + numbers_of_step(), numbers,
                               [](float x) { return static_cast<int8_t>(x); });
    }
  }
  bool CopyNibbles(int64_t begin, int64_t count, std::byte* out) const override {
    const TensorType& type = *tensor_.type;
    if (part_ != Part::kCodes || type.nibbles_at == 0) return false;
    const uint8_t* from = tensor_.bytes.data() + begin / 32 * type.bytes + type.nibbles_at;
    for (int64_t i = 0; i < count / 32; ++i) std::memcpy(out + i * 16, from + i * type.bytes, 16);
    return true;
  }

 private:
  int64_t ElementBytes() const { return part_ == Part::kCodes ? 1 : halves_ ? 2 : 4; }

  /// Where in a block the one half lies that is its scale or minimum; -1: it is made.
  int64_t StoredHalfAt() const {
    const TensorType& type = *tensor_.type;
    if (!halves_ || type.part != type.elements || type.step_at < 0) return -1;
    if (part_ == Part::kScales) return type.step_at;
    const bool has_own = part_ == Part::kMinima && type.times_scale == 0;
    return has_own ? type.step_at + static_cast<int64_t>(sizeof(Half)) : -1;
  }

  void ReadBlock(const uint8_t* from, std::byte* out) const {
    if (halves_) return ReadHalves(from, out);
    ReadPart(from, out);
  }

  void ReadPart(const uint8_t* from, std::byte* out) const {
    const TensorType& type = *tensor_.type;
    auto* floats = reinterpret_cast<float*>(out);
    switch (part_) {
      case Part::kCodes: return type.read(from, {.codes = reinterpret_cast<uint8_t*>(out)});
      case Part::kScales: return type.read(from, {.scales = floats});
      case Part::kMinima: return type.read(from, {.minima = floats});
      default: return Dequantise(type, from, 1, floats);
    }
  }

  void ReadHalves(const uint8_t* from, std::byte* out) const {
    const TensorType& type = *tensor_.type;
    float floats[kMaxBlockElements / 16];
    type.read(from,
              part_ == Part::kScales ? BlockParts{.scales = floats} : BlockParts{.minima = floats});
    for (int64_t i = 0; i < type.elements / type.part; ++i) {
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
  SharedBytes bytes_;
  Part part_;
  bool halves_;
};

bool IsHalf(float x) { return static_cast<float>(Half(x)) == x; }

/// Whether halves hold scales and minima exactly: multiples of the step by powers of two that do
/// not pass the largest half.
bool HalvesHold(const TensorInfo& tensor) {
  const TensorType& type = *tensor.type;
  if (type.most_of_step == 0) return false;
  for (size_t at = 0; type.step_at < 0 && at < tensor.bytes.size(); at += type.bytes) {
    float floats[2];
    type.read(tensor.bytes.data() + at, {.scales = floats, .minima = floats + 1});
    if (!std::ranges::all_of(floats, IsHalf)) return false;
  }
  if (type.step_at < 0) return true;
  // Magnitudes of halves are ordered as their bits are, infinity and NaN behind all numbers.
  const uint16_t most = Half(65504.0F / static_cast<float>(type.most_of_step)).bits;
  for (size_t at = 0; at < tensor.bytes.size(); at += type.bytes) {
    Half step;
    std::memcpy(&step, tensor.bytes.data() + at + type.step_at, sizeof(step));
    if ((step.bits & 0x7fff) > most) return false;
  }
  return true;
}

SharedBytes Share(const TensorInfo& tensor, std::shared_ptr<const void> owner) {
  return std::make_shared<const TensorBytes>(tensor.bytes, std::move(owner));
}

Constant Make(const TensorInfo& tensor, SharedBytes bytes, Part part, DType dtype, Shape shape) {
  return Constant::Generated(
      dtype, std::move(shape),
      std::make_shared<TensorSource>(tensor, std::move(bytes), part, dtype == DType::kF16));
}

/// Halves as floats, without a call for each.
void WidenHalves(const uint8_t* from, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half = 0;
    std::memcpy(&half, from + i * 2, sizeof(half));
    // Exponents are 112 apart, but for those of the infinite.
    const float scaled = std::bit_cast<float>((half & 0x7fffU) << 13) * 0x1p112F;
    const uint32_t infinite = (half & 0x7c00U) == 0x7c00U ? 0x7f800000U : 0U;
    out[i] =
        std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | infinite | (half & 0x8000U) << 16);
  }
}

}  // namespace

BlockConstants ReadBlocks(const TensorInfo& tensor, std::shared_ptr<const void> owner) {
  const TensorType& type = *tensor.type;
  const DType scales = HalvesHold(tensor) ? DType::kF16 : DType::kF32;
  const Shape parts = {tensor.rows, tensor.columns / type.part};
  const SharedBytes bytes = Share(tensor, std::move(owner));
  return {Make(tensor, bytes, Part::kCodes, type.bits == 4 ? DType::kU4 : DType::kU8,
               Shape{tensor.rows, tensor.columns}),
          Make(tensor, bytes, Part::kScales, scales, parts),
          Make(tensor, bytes, Part::kMinima, scales, parts)};
}

Constant ReadFloats(const TensorInfo& tensor, std::shared_ptr<const void> owner, bool transposed) {
  const SharedBytes bytes = Share(tensor, std::move(owner));
  return transposed
             ? Make(tensor, bytes, Part::kColumns, DType::kF32, Shape{tensor.columns, tensor.rows})
             : Make(tensor, bytes, Part::kFloats, DType::kF32, Shape{tensor.rows, tensor.columns});
}

Constant ReadVector(const TensorInfo& tensor, std::shared_ptr<const void> owner) {
  return Make(tensor, Share(tensor, std::move(owner)), Part::kFloats, DType::kF32,
              Shape{tensor.columns});
}

void ReadRow(const TensorInfo& tensor, int64_t row, float* out) {
  if (tensor.type->name == "F16")
    return WidenHalves(tensor.bytes.data() + row * tensor.row_bytes(), tensor.columns, out);
  Dequantise(*tensor.type, tensor.bytes.data() + row * tensor.row_bytes(),
             tensor.columns / tensor.type->elements, out);
}

}  // namespace fettle::gguf
