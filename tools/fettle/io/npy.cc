#include "io/npy.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/file.h"

namespace fettle::tools {
namespace {

static_assert(std::endian::native == std::endian::little, "the writer copies memory as it is");

constexpr std::string_view kMagic = "\x93NUMPY";

struct Kind {
  DType dtype;
  std::string_view descr;  // without the byte order
};
constexpr Kind kKinds[] = {
    {DType::kF32, "f4"}, {DType::kF16, "f2"}, {DType::kF64, "f8"}, {DType::kI8, "i1"},
    {DType::kU8, "u1"},  {DType::kI16, "i2"}, {DType::kU16, "u2"}, {DType::kI32, "i4"},
    {DType::kU32, "u4"}, {DType::kI64, "i8"}, {DType::kU64, "u8"}, {DType::kBool, "b1"},
};

struct Header {
  DType dtype = DType::kUndefined;
  bool swap = false;
  bool fortran = false;
  Dims dims;
};

/// The text behind `'key':` in a Python dictionary, blanks skipped.
std::optional<std::string_view> Field(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return std::nullopt;
  const size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return std::nullopt;
  const size_t value = header.find_first_not_of(" \t", colon + 1);
  if (value == std::string_view::npos) return std::nullopt;
  return header.substr(value);
}

Status ParseDescr(std::string_view text, Header& header) {
  const size_t end = text.size() > 1 ? text.find(text[0], 1) : std::string_view::npos;
  if ((text[0] != '\'' && text[0] != '"') || end == std::string_view::npos || end < 3)
    return InvalidArgument("npy: expected a plain number type, got a structured one");
  const std::string_view descr = text.substr(1, end - 1);
  for (const Kind& kind : kKinds) {
    if (descr.substr(1) != kind.descr) continue;
    header.dtype = kind.dtype;
    header.swap = descr[0] == '>' && RowOf(kind.dtype).bits > 8;
    if (std::string_view("<>|=").find(descr[0]) == std::string_view::npos) break;
    return OkStatus();
  }
  return InvalidArgument("npy: type '{}' is not one that tensors have", descr);
}

Status ParseShape(std::string_view text, Header& header) {
  const size_t close = text.find(')');
  if (text[0] != '(' || close == std::string_view::npos)
    return InvalidArgument("npy: the header's shape is damaged");
  size_t at = 1;
  while (true) {
    at = text.find_first_not_of(" ,", at);
    if (at >= close) return OkStatus();
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + close, extent);
    if (error != std::errc() || extent < 0 || header.dims.size() >= 64)
      return InvalidArgument("npy: the header's shape is damaged");
    header.dims.push_back(extent);
    at = static_cast<size_t>(end - text.data());
  }
}

Result<Header> ParseHeader(std::string_view text) {
  const auto descr = Field(text, "descr"), order = Field(text, "fortran_order"),
             shape = Field(text, "shape");
  if (!descr || !order || !shape) return InvalidArgument("npy: the header is damaged");
  Header header;
  RETURN_IF_ERROR(ParseDescr(*descr, header));
  RETURN_IF_ERROR(ParseShape(*shape, header));
  header.fortran = order->starts_with("True");
  return header;
}

void SwapBytes(Tensor& tensor) {
  const auto size = static_cast<size_t>(StorageBytes(tensor.dtype(), 1));
  const std::span<std::byte> bytes = tensor.bytes();
  for (size_t at = 0; at < bytes.size(); at += size)
    std::reverse(bytes.begin() + static_cast<ptrdiff_t>(at),
                 bytes.begin() + static_cast<ptrdiff_t>(at + size));
}

/// Any byte but 0 is true; a bool of another value would be undefined behaviour.
void NormaliseBools(Tensor& tensor) {
  for (std::byte& byte : tensor.bytes()) byte = std::byte{byte != std::byte{0}};
}

/// Row-major copy of a tensor whose bytes lie first axis fastest.
Result<Tensor> FromColumnMajor(const Tensor& tensor) {
  ASSIGN_OR_RETURN(Tensor out, Tensor::Create(tensor.dtype(), tensor.shape()));
  const auto size = static_cast<size_t>(StorageBytes(tensor.dtype(), 1));
  const int rank = tensor.shape().rank();
  Dims coordinate(static_cast<size_t>(rank));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    Unravel(i, tensor.shape(), coordinate);
    int64_t offset = 0;
    for (int axis = rank; axis-- > 0;)
      offset = offset * tensor.shape()[axis] + coordinate[static_cast<size_t>(axis)];
    std::memcpy(out.data() + static_cast<size_t>(i) * size,
                tensor.data() + static_cast<size_t>(offset) * size, size);
  }
  return out;
}

/// The header with its length in front, padded so that the data starts at a multiple of 64.
std::string FormatHeader(std::string_view descr, const Shape& shape) {
  std::string dims;
  for (int64_t extent : shape) dims += fmt::format("{}, ", extent);
  if (shape.rank() > 1) dims.resize(dims.size() - 2);
  if (shape.rank() == 1) dims.pop_back();
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
  const size_t prefix = kMagic.size() + 4;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  return out + header;
}

}  // namespace

Result<Tensor> ParseNpy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 12 || !text.starts_with(kMagic)) return InvalidArgument("npy: not a .npy file");
  const int version = text[6];
  if (version < 1 || version > 3) return InvalidArgument("npy: unknown version {}", version);
  const size_t prefix = version == 1 ? 10 : 12;
  uint32_t length = 0;
  std::memcpy(&length, text.data() + 8, version == 1 ? 2 : 4);
  if (length > text.size() - prefix) return InvalidArgument("npy: the file is cut short");
  ASSIGN_OR_RETURN(const Header header, ParseHeader(text.substr(prefix, length)));
  const Shape shape(header.dims);
  const std::optional<int64_t> elements = shape.CheckedElements();
  if (!elements) return InvalidArgument("npy: shape {} is too large", shape.ToString());
  const std::span<const std::byte> data = bytes.subspan(prefix + length);
  const int64_t expected = StorageBytes(header.dtype, *elements);
  if (static_cast<int64_t>(data.size()) != expected) {
    return InvalidArgument("npy: expected {} bytes for {} of shape {}, got {}", expected,
                           DTypeName(header.dtype), shape.ToString(), data.size());
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(header.dtype, shape));
  if (!data.empty()) std::memcpy(tensor.data(), data.data(), data.size());
  if (header.swap) SwapBytes(tensor);
  if (header.dtype == DType::kBool) NormaliseBools(tensor);
  if (header.fortran && shape.rank() > 1) return FromColumnMajor(tensor);
  return tensor;
}

Result<Tensor> ReadNpy(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  auto tensor = ParseNpy(file->bytes());
  if (!tensor.ok()) return tensor.status().WithContext(path);
  return tensor;
}

std::vector<std::byte> FormatNpy(const Tensor& tensor) {
  DType stored = tensor.dtype();
  if (stored == DType::kI4) stored = DType::kI8;
  if (stored == DType::kU4) stored = DType::kU8;
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const Kind& row) { return row.dtype == stored; });
  const bool widen = kind == std::end(kKinds);
  const std::string_view descr = widen ? "f4" : kind->descr;
  const char order = descr.back() == '1' ? '|' : '<';
  const std::string header = FormatHeader(fmt::format("{}{}", order, descr), tensor.shape());
  const auto* text = reinterpret_cast<const std::byte*>(header.data());
  std::vector<std::byte> out(text, text + header.size());
  if (!widen) {
    out.insert(out.end(), tensor.bytes().begin(), tensor.bytes().end());
    return out;
  }
  const HostView view = tensor.view();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const auto value = static_cast<float>(view.GetDouble(i));
    const auto* raw = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), raw, raw + sizeof(value));
  }
  return out;
}

Status WriteNpy(const std::string& path, const Tensor& tensor) {
  return WriteFile(path, FormatNpy(tensor));
}

}  // namespace fettle::tools
