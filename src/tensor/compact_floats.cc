#include "tensor/compact_floats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/hash.h"

namespace fettle {
namespace {

constexpr int64_t kChunk = 4096;

/// The slices of consecutive elements.
class Slices {
 public:
  Slices(const CompactLayout& layout, int64_t begin)
      : layout_(layout), slice_(begin / layout.inner % layout.slices), at_(begin % layout.inner) {}
  int64_t Next() {
    const int64_t slice = slice_;
    if (++at_ == layout_.inner) {
      at_ = 0;
      if (++slice_ == layout_.slices) slice_ = 0;
    }
    return slice;
  }

 private:
  const CompactLayout& layout_;
  int64_t slice_, at_;
};

template <typename T>
T Load(const std::byte* bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <typename T>
void Store(T value, std::byte* bytes, int64_t index) {
  std::memcpy(bytes + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

/// Floats before the elements: of a slice, and of all.
int64_t FloatsOfSlice(CompactForm form) {
  return form == CompactForm::kBits ? 2 : (form == CompactForm::kBytes ? 1 : 0);
}
int64_t Head(const CompactLayout& layout) {
  return FloatsOfSlice(layout.form) * layout.slices * static_cast<int64_t>(sizeof(float));
}

class CompactFloats final : public ConstantSource {
 public:
  CompactFloats(const CompactLayout& layout, Constant packed)
      : layout_(layout), packed_(std::move(packed)) {}

  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    const std::byte* head = packed_.bytes().data();
    const std::byte* elements = head + Head(layout_);
    Slices slices(layout_, begin);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = begin + i;
      float value = 0;
      switch (layout_.form) {
        case CompactForm::kHalves: value = static_cast<float>(Load<Half>(elements, at)); break;
        case CompactForm::kBytes:
          value = Load<float>(head, slices.Next()) * static_cast<float>(Load<int8_t>(elements, at));
          break;
        case CompactForm::kBits: {
          const auto bit = static_cast<int64_t>(elements[at / 8] >> (at % 8) & std::byte{1});
          value = Load<float>(head, slices.Next() * 2 + bit);
          break;
        }
      }
      Store(value, out, i);
    }
  }
  uint64_t Hash() const override {
    const int64_t form[] = {static_cast<int64_t>(layout_.form), layout_.slices, layout_.inner};
    return HashBytes(std::as_bytes(std::span(form)), packed_.Hash());
  }
  std::span<const std::byte> raw_bytes() const override { return packed_.raw_bytes(); }

  const CompactLayout& layout() const { return layout_; }
  const Constant& packed() const { return packed_; }

 private:
  CompactLayout layout_;
  Constant packed_;
};

/// Calls visit(index, bits of the float) until it returns false.
template <typename Visit>
bool ForEachFloat(const Constant& constant, Visit visit) {
  std::array<uint32_t, kChunk> chunk;
  for (int64_t begin = 0; begin < constant.elements(); begin += kChunk) {
    const int64_t count = std::min(kChunk, constant.elements() - begin);
    constant.CopyTo(begin, count, reinterpret_cast<std::byte*>(chunk.data()));
    for (int64_t i = 0; i < count; ++i) {
      if (!visit(begin + i, chunk[i])) return false;
    }
  }
  return true;
}

/// The two floats of each slice, as bits; equal where there is one.
using Pairs = std::vector<std::array<uint32_t, 2>>;
std::optional<Pairs> FindPairs(const Constant& constant, const CompactLayout& layout) {
  Pairs pairs(layout.slices);
  std::vector<uint8_t> known(layout.slices);
  Slices slices(layout, 0);
  const bool are_pairs = ForEachFloat(constant, [&](int64_t, uint32_t bits) {
    const int64_t slice = slices.Next();
    std::array<uint32_t, 2>& pair = pairs[slice];
    if (known[slice] == 0) pair = {bits, bits};
    if (known[slice] == 1 && bits != pair[0]) pair[1] = bits;
    if (known[slice] < 2) known[slice] = pair[0] == pair[1] ? 1 : 2;
    return bits == pair[0] || bits == pair[1];
  });
  return are_pairs ? std::optional<Pairs>(std::move(pairs)) : std::nullopt;
}

bool AreHalves(const Constant& constant) {
  return ForEachFloat(constant, [](int64_t, uint32_t bits) {
    const Half half(std::bit_cast<float>(bits));
    return std::bit_cast<uint32_t>(static_cast<float>(half)) == bits;
  });
}

void PackBitsOf(const Constant& constant, const CompactLayout& layout, std::byte* out) {
  const std::optional<Pairs> pairs = FindPairs(constant, layout);
  FETTLE_CHECK(pairs.has_value(), "not two values");
  std::memcpy(out, pairs->data(), Head(layout));
  std::byte* elements = out + Head(layout);
  Slices slices(layout, 0);
  ForEachFloat(constant, [&](int64_t i, uint32_t bits) {
    const bool is_second = bits != (*pairs)[slices.Next()][0];
    elements[i / 8] |= static_cast<std::byte>(is_second ? 1 : 0) << (i % 8);
    return true;
  });
}

void PackBytesOf(const Constant& constant, const CompactLayout& layout, std::byte* out) {
  std::vector<float> steps(layout.slices);
  Slices slices(layout, 0);
  ForEachFloat(constant, [&](int64_t, uint32_t bits) {
    float& largest = steps[slices.Next()];
    largest = std::max(largest, std::fabs(std::bit_cast<float>(bits)));
    return true;
  });
  for (float& step : steps) step /= 127;
  std::memcpy(out, steps.data(), Head(layout));
  Slices again(layout, 0);
  ForEachFloat(constant, [&](int64_t i, uint32_t bits) {
    const float step = steps[again.Next()];
    const float steps_from_zero = step > 0 ? std::bit_cast<float>(bits) / step : 0;
    const float nearest = std::nearbyint(std::clamp(steps_from_zero, -127.0F, 127.0F));
    Store(static_cast<int8_t>(nearest), out + Head(layout), i);
    return true;
  });
}

}  // namespace

CompactLayout CompactLayout::Along(CompactForm form, const Shape& shape, int axis) {
  return {form, shape[axis], shape.Count(axis + 1, shape.rank())};
}

int64_t CompactLayout::Bytes(int64_t elements) const {
  switch (form) {
    case CompactForm::kBits: return Head(*this) + (elements + 7) / 8;
    case CompactForm::kHalves: return elements * 2;
    case CompactForm::kBytes: return Head(*this) + elements;
  }
  return 0;
}

std::optional<CompactForm> CompactFormOf(const Constant& constant) {
  const auto* compact = dynamic_cast<const CompactFloats*>(constant.source());
  return compact == nullptr ? std::nullopt : std::optional(compact->layout().form);
}

std::optional<CompactLayout> FindCompact(const Constant& constant) {
  if (constant.dtype() != DType::kF32 || constant.is_splat() || constant.elements() == 0)
    return std::nullopt;
  if (const auto* compact = dynamic_cast<const CompactFloats*>(constant.source()))
    return compact->layout();
  const Shape& shape = constant.shape();
  const int64_t floats = constant.elements() * static_cast<int64_t>(sizeof(float));
  std::vector<CompactLayout> layouts = {{CompactForm::kBits, 1, 1}};
  for (int axis : {0, 1, shape.rank() - 1}) {
    if (axis >= 0 && axis < shape.rank())
      layouts.push_back(CompactLayout::Along(CompactForm::kBits, shape, axis));
  }
  for (const CompactLayout& layout : layouts) {
    // As large as halves: most of it would be the slices' floats.
    if (layout.Bytes(constant.elements()) * 2 < floats && FindPairs(constant, layout))
      return layout;
  }
  return AreHalves(constant) ? std::optional<CompactLayout>(CompactLayout{}) : std::nullopt;
}

Result<Tensor> PackCompact(const Constant& constant, const CompactLayout& layout) {
  const auto* compact = dynamic_cast<const CompactFloats*>(constant.source());
  if (compact != nullptr && compact->layout() == layout) return compact->packed().ToTensor();
  ASSIGN_OR_RETURN(Tensor packed,
                   Tensor::Create(DType::kU8, Shape{layout.Bytes(constant.elements())}));
  switch (layout.form) {
    case CompactForm::kBits: PackBitsOf(constant, layout, packed.data()); break;
    case CompactForm::kBytes: PackBytesOf(constant, layout, packed.data()); break;
    case CompactForm::kHalves:
      ForEachFloat(constant, [&](int64_t i, uint32_t bits) {
        Store(Half(std::bit_cast<float>(bits)), packed.data(), i);
        return true;
      });
  }
  return packed;
}

Constant FromCompact(const Shape& shape, const CompactLayout& layout, const Constant& packed) {
  FETTLE_CHECK(layout.slices > 0 && layout.inner > 0 && packed.source() == nullptr &&
                   packed.elements() == layout.Bytes(shape.elements()),
               "compact floats of the wrong size");
  return Constant::Generated(DType::kF32, shape, std::make_shared<CompactFloats>(layout, packed));
}

}  // namespace fettle
