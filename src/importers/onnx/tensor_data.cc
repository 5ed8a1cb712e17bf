#include "importers/onnx/tensor_data.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "importers/onnx/proto.h"
#include "importers/onnx/wire.h"
#include "tensor/packed_rows.h"

namespace fettle::onnx {
namespace {

struct TypeCode {
  int32_t code;
  DType dtype;
};
constexpr TypeCode kTypeCodes[] = {
    {1, DType::kF32},   {2, DType::kU8},        {3, DType::kI8},      {4, DType::kU16},
    {5, DType::kI16},   {6, DType::kI32},       {7, DType::kI64},     {9, DType::kBool},
    {10, DType::kF16},  {11, DType::kF64},      {12, DType::kU32},    {13, DType::kU64},
    {16, DType::kBF16}, {17, DType::kF8E4M3FN}, {19, DType::kF8E5M2}, {21, DType::kU4},
    {22, DType::kI4},
};

struct RefusedCode {
  int32_t code;
  std::string_view name;
};
constexpr RefusedCode kRefusedCodes[] = {
    {8, "string"},          {14, "complex64"},  {15, "complex128"}, {18, "float8e4m3fnuz"},
    {20, "float8e5m2fnuz"}, {23, "float4e2m1"}, {24, "float8e8m0"}, {25, "uint2"},
    {26, "int2"},           {27, "float6e2m3"}, {28, "float6e3m2"},
};

struct TensorHeader {
  Dims dims;
  int64_t type = 0;
  std::string_view raw;
  bool has_raw = false;
  bool external = false;
  bool segment = false;
  std::string_view location, offset, length;
};

Status AddDim(int64_t extent, Dims* dims) {
  if (dims->size() >= kMaxRank) return InvalidModel("more than {} dimensions", kMaxRank);
  if (extent < 0) return InvalidModel("dimension {} is {}", dims->size(), extent);
  dims->push_back(extent);
  return OkStatus();
}

Status ReadExternalEntry(std::string_view body, TensorHeader* header) {
  std::string_view key, value;
  RETURN_IF_ERROR(ForEachField(body, "external data", [&](auto& field) {
    switch (field.tag_and_type()) {
      case BytesField(1): key = View(field); break;
      case BytesField(2): value = View(field); break;
      default: field.skip();
    }
    return OkStatus();
  }));
  if (key == "location") header->location = value;
  if (key == "offset") header->offset = value;
  if (key == "length") header->length = value;
  return OkStatus();
}

Result<TensorHeader> ReadHeader(std::string_view body) {
  TensorHeader header;
  RETURN_IF_ERROR(ForEachField(body, "tensor", [&](auto& field) {
    switch (field.tag_and_type()) {
      case VarintField(1): return AddDim(field.get_int64(), &header.dims);
      case BytesField(1):
        for (int64_t extent : field.get_packed_int64())
          RETURN_IF_ERROR(AddDim(extent, &header.dims));
        break;
      case VarintField(2): header.type = field.get_enum(); break;
      case BytesField(3):
        header.segment = true;
        field.skip();
        break;
      case BytesField(9):
        header.raw = View(field);
        header.has_raw = true;
        break;
      case BytesField(13): return ReadExternalEntry(View(field), &header);
      case VarintField(14): header.external = field.get_enum() == 1; break;
      default: field.skip();
    }
    return OkStatus();
  }));
  if (header.segment) return Unsupported("tensors in segments are not supported");
  return header;
}

/// Collects the values of one repeated field, packed or not, up to `limit` of them.
template <typename T>
class Collector {
 public:
  Collector(T* out, size_t limit) : out_(out), limit_(limit) {}
  template <typename V>
  void Add(V value) {
    if (count_ < limit_) out_[count_] = static_cast<T>(value);
    ++count_;
  }
  template <typename Range>
  void AddAll(const Range& range) {
    for (auto value : range) Add(value);
  }
  size_t count() const { return count_; }

 private:
  T* out_;
  size_t limit_;
  size_t count_ = 0;
};

/// Takes what some bits hold, read with a sign or without; another value makes it fail.
template <typename T>
class Checked {
 public:
  explicit Checked(Collector<T>& values) : values_(values) {}
  template <typename Range>
  Status AddAll(const Range& range) {
    constexpr int kBits = 8 * sizeof(T);
    for (const int64_t value : range) {
      if (value < -(int64_t{1} << (kBits - 1)) || value >= int64_t{1} << kBits)
        return InvalidModel("int32_data: {} does not fit into {} bits", value, kBits);
      values_.Add(value);
    }
    return OkStatus();
  }

 private:
  Collector<T>& values_;
};

/// Bit patterns of `dtype` in int32_data, one per entry.
template <typename T>
Result<size_t> ReadInt32Data(std::string_view body, T* out, size_t limit) {
  Collector<T> values(out, limit);
  Checked<T> checked(values);
  RETURN_IF_ERROR(ForEachField(body, "tensor", [&](auto& field) {
    switch (field.tag_and_type()) {
      case VarintField(5): return checked.AddAll(std::array{field.get_int32()});
      case BytesField(5): return checked.AddAll(field.get_packed_int32());
      default: field.skip();
    }
    return OkStatus();
  }));
  return values.count();
}

Result<size_t> ReadFloatData(std::string_view body, float* out, size_t limit) {
  Collector<float> values(out, limit);
  RETURN_IF_ERROR(ForEachField(body, "tensor", [&](auto& field) {
    switch (field.tag_and_type()) {
      case Fixed32Field(4): values.Add(field.get_float()); break;
      case BytesField(4): values.AddAll(field.get_packed_float()); break;
      default: field.skip();
    }
    return OkStatus();
  }));
  return values.count();
}

Result<size_t> ReadDoubleData(std::string_view body, double* out, size_t limit) {
  Collector<double> values(out, limit);
  RETURN_IF_ERROR(ForEachField(body, "tensor", [&](auto& field) {
    switch (field.tag_and_type()) {
      case Fixed64Field(10): values.Add(field.get_double()); break;
      case BytesField(10): values.AddAll(field.get_packed_double()); break;
      default: field.skip();
    }
    return OkStatus();
  }));
  return values.count();
}

/// int64_data (tag 7) and uint64_data (tag 11) share their encoding.
template <typename T>
Result<size_t> ReadInt64Data(std::string_view body, uint32_t tag, T* out, size_t limit) {
  Collector<T> values(out, limit);
  RETURN_IF_ERROR(ForEachField(body, "tensor", [&](auto& field) {
    if (field.tag_and_type() == VarintField(tag)) {
      values.Add(field.get_int64());
    } else if (field.tag_and_type() == BytesField(tag)) {
      values.AddAll(field.get_packed_int64());
    } else {
      field.skip();
    }
    return OkStatus();
  }));
  return values.count();
}

Result<size_t> ReadTypedData(std::string_view body, DType dtype, std::byte* out, size_t limit) {
  switch (dtype) {
    case DType::kF32: return ReadFloatData(body, reinterpret_cast<float*>(out), limit);
    case DType::kF64: return ReadDoubleData(body, reinterpret_cast<double*>(out), limit);
    case DType::kI64: return ReadInt64Data(body, 7, reinterpret_cast<int64_t*>(out), limit);
    case DType::kU64: return ReadInt64Data(body, 11, reinterpret_cast<uint64_t*>(out), limit);
    case DType::kU32: return ReadInt64Data(body, 11, reinterpret_cast<uint32_t*>(out), limit);
    case DType::kI32: return ReadInt32Data(body, reinterpret_cast<int32_t*>(out), limit);
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return ReadInt32Data(body, reinterpret_cast<uint16_t*>(out), limit);
    default: return ReadInt32Data(body, reinterpret_cast<uint8_t*>(out), limit);
  }
}

/// Bytes of `elements` values as they are stored in a file.
int64_t StoredBytes(DType dtype, int64_t elements) {
  return PackedBytes(RowOf(dtype).bits, elements);
}

/// Two 4-bit values a byte, the first in the low half, to one value a byte.
void UnpackNibbles(std::span<const std::byte> packed, bool is_signed, std::span<std::byte> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const auto pair = std::to_integer<unsigned>(packed[i / 2]);
    unsigned nibble = i % 2 == 0 ? pair & 15U : pair >> 4;
    if (is_signed && nibble >= 8) nibble |= 0xf0U;
    out[i] = static_cast<std::byte>(nibble);
  }
}

/// 4-bit values over so many are unpacked when they are read.
constexpr int64_t kManyNibbles = 4096;

/// A constant over stored bytes: as they are where the host form is the same, a decoded copy where
/// not (few 4-bit values; booleans other than 0 and 1, which no bool may hold).
Result<Constant> FromStored(DType dtype, const Shape& shape, std::span<const std::byte> stored,
                            std::shared_ptr<const void> owner) {
  const bool odd_bool =
      dtype == DType::kBool &&
      std::any_of(stored.begin(), stored.end(), [](std::byte b) { return b > std::byte{1}; });
  if (!IsSubByte(dtype) && !odd_bool)
    return Constant::FromBytes(dtype, shape, stored, std::move(owner));
  if (!odd_bool && shape.elements() > kManyNibbles) {
    const Shape bytes{static_cast<int64_t>(stored.size())};
    return FromNibbles(dtype, shape,
                       Constant::FromBytes(DType::kU8, bytes, stored, std::move(owner)));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  if (odd_bool) {
    std::transform(stored.begin(), stored.end(), tensor.data(),
                   [](std::byte b) { return b == std::byte{0} ? b : std::byte{1}; });
  } else {
    UnpackNibbles(stored, IsSigned(dtype), tensor.bytes());
  }
  return Constant::FromTensor(tensor);
}

Result<Constant> FromTyped(std::string_view body, DType dtype, const Shape& shape) {
  const int64_t entries =
      IsSubByte(dtype) ? StoredBytes(dtype, shape.elements()) : shape.elements();
  // Each entry takes a byte or more, so this bounds what is allocated by what is there.
  if (entries > static_cast<int64_t>(body.size()))
    return InvalidModel("shape {} needs {} values, the data holds fewer", shape.ToString(),
                        entries);
  const DType entry_type = IsSubByte(dtype) ? DType::kU8 : dtype;
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(entry_type, Shape{entries}));
  ASSIGN_OR_RETURN(const size_t count, ReadTypedData(body, entry_type, tensor.data(), entries));
  if (static_cast<int64_t>(count) != entries)
    return InvalidModel("shape {} needs {} values, the data holds {}", shape.ToString(), entries,
                        count);
  return FromStored(dtype, shape, tensor.bytes(), tensor.storage());
}

}  // namespace

Result<DType> DTypeFromCode(int64_t code) {
  for (const TypeCode& entry : kTypeCodes) {
    if (entry.code == code) return entry.dtype;
  }
  for (const RefusedCode& entry : kRefusedCodes) {
    if (entry.code == code) return Unsupported("element type {} is not supported", entry.name);
  }
  return InvalidModel("unknown element type {}", code);
}

int32_t CodeFromDType(DType dtype) {
  for (const TypeCode& entry : kTypeCodes) {
    if (entry.dtype == dtype) return entry.code;
  }
  return 0;
}

Result<Constant> DecodeTensor(std::string_view body, const std::shared_ptr<const void>& owner,
                              ExternalFiles* external) {
  ASSIGN_OR_RETURN(TensorHeader header, ReadHeader(body));
  ASSIGN_OR_RETURN(const DType dtype, DTypeFromCode(header.type));
  const Shape shape(std::move(header.dims));
  const std::optional<int64_t> elements = shape.CheckedElements();
  if (!elements) return InvalidModel("shape {} is too large", shape.ToString());
  const int64_t needed = StoredBytes(dtype, *elements);
  if (header.external) {
    if (external == nullptr)
      return InvalidModel("external data is only read from a model file on disk");
    ASSIGN_OR_RETURN(const auto file, external->Open(header.location));
    ASSIGN_OR_RETURN(const auto range,
                     ExternalRange(file->bytes(), header.offset, header.length, needed));
    return FromStored(dtype, shape, range, file);
  }
  if (!header.has_raw) return FromTyped(body, dtype, shape);
  if (static_cast<int64_t>(header.raw.size()) != needed) {
    return InvalidModel("shape {} of {} needs {} bytes of raw data, got {}", shape.ToString(),
                        DTypeName(dtype), needed, header.raw.size());
  }
  return FromStored(dtype, shape, std::as_bytes(std::span(header.raw)), owner);
}

}  // namespace fettle::onnx
