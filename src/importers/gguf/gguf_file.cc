#include "importers/gguf/gguf_file.h"

#include <cmath>
#include <cstring>
#include <set>

#include "base/file.h"

namespace fettle::gguf {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 40;
enum : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kText, kArray, kU64, kI64, kF64 };

}  // namespace

/// Reads front to back; every length is checked against what is left before anything is taken.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, File& file) : bytes_(bytes), file_(file) {}

  Status Run() {
    uint32_t magic = 0, version = 0;
    RETURN_IF_ERROR(Take(magic));
    RETURN_IF_ERROR(Take(version));
    if (version != 2 && version != 3)
      return Unsupported("GGUF version {}: expected 2 or 3, little endian", version);
    uint64_t tensors = 0, values = 0;
    RETURN_IF_ERROR(Take(tensors));
    RETURN_IF_ERROR(Take(values));
    // A tensor takes 24 bytes and more, a value 13.
    RETURN_IF_ERROR(CheckCount("tensors", tensors, 24));
    RETURN_IF_ERROR(CheckCount("values", values, 13));
    for (uint64_t i = 0; i < values; ++i) RETURN_IF_ERROR(ReadEntry());
    file_.front_ = bytes_.first(at_);
    std::vector<uint64_t> offsets(tensors);
    for (uint64_t& offset : offsets) RETURN_IF_ERROR(ReadTensor(offset));
    return PlaceTensors(offsets);
  }

 private:
  int64_t left() const { return static_cast<int64_t>(bytes_.size()) - at_; }

  Status CheckCount(std::string_view what, uint64_t count, uint64_t least) const {
    if (count <= static_cast<uint64_t>(left()) / least) return OkStatus();
    return InvalidModel("{} {} do not fit the {} bytes that are left", count, what, left());
  }

  template <typename T>
  Status Take(T& value) {
    if (left() < static_cast<int64_t>(sizeof(T)))
      return InvalidModel("the file ends in its header, at byte {}", bytes_.size());
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return OkStatus();
  }

  Status TakeText(std::string& text) {
    uint64_t size = 0;
    RETURN_IF_ERROR(Take(size));
    RETURN_IF_ERROR(CheckCount("bytes of text", size, 1));
    text.assign(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += static_cast<int64_t>(size);
    return OkStatus();
  }

  template <typename T, typename To>
  Status TakeAs(To& to) {
    T value{};
    RETURN_IF_ERROR(Take(value));
    to = static_cast<To>(value);
    return OkStatus();
  }

  template <typename To>
  Status TakeInteger(uint32_t type, To& to) {
    switch (type) {
      case kU8: return TakeAs<uint8_t>(to);
      case kI8: return TakeAs<int8_t>(to);
      case kU16: return TakeAs<uint16_t>(to);
      case kI16: return TakeAs<int16_t>(to);
      case kU32: return TakeAs<uint32_t>(to);
      case kI32: return TakeAs<int32_t>(to);
      case kU64: return TakeAs<uint64_t>(to);
      case kI64: return TakeAs<int64_t>(to);
      case kBool: return TakeAs<uint8_t>(to);
      default: return InvalidModel("value type {} is unknown", type);
    }
  }

  Status TakeNumber(uint32_t type, double& to) {
    if (type == kF32) return TakeAs<float>(to);
    if (type == kF64) return Take(to);
    return TakeInteger(type, to);
  }

  Status TakeArray(Value& value) {
    uint32_t type = 0;
    uint64_t count = 0;
    RETURN_IF_ERROR(Take(type));
    RETURN_IF_ERROR(Take(count));
    if (type == kArray) return Unsupported("arrays of arrays are not supported");
    RETURN_IF_ERROR(CheckCount("elements of an array", count, type == kText ? 8 : 1));
    if (type == kText) {
      std::vector<std::string> texts(count);
      for (std::string& text : texts) RETURN_IF_ERROR(TakeText(text));
      value = std::move(texts);
      return OkStatus();
    }
    std::vector<double> numbers(count);
    for (double& number : numbers) RETURN_IF_ERROR(TakeNumber(type, number));
    value = std::move(numbers);
    return OkStatus();
  }

  Status TakeValue(uint32_t type, Value& value) {
    if (type == kText) return TakeText(value.emplace<std::string>());
    if (type == kArray) return TakeArray(value);
    if (type == kF32 || type == kF64) return TakeNumber(type, value.emplace<double>());
    int64_t whole = 0;
    RETURN_IF_ERROR(TakeInteger(type, whole));
    if (type == kBool) {
      value = whole != 0;
    } else {
      value = whole;
    }
    return OkStatus();
  }

  Status ReadEntry() {
    std::string key;
    RETURN_IF_ERROR(TakeText(key));
    Value value;
    uint32_t type = 0;
    RETURN_IF_ERROR(Take(type));
    const Status status = TakeValue(type, value);
    if (!status.ok()) return status.WithContext(fmt::format("value '{}'", key));
    if (key == "general.file_type" && type == kU32) file_.file_type_at_ = at_ - 4;
    if (!file_.values_.emplace(key, std::move(value)).second)
      return InvalidModel("value '{}' is listed twice", key);
    return OkStatus();
  }

  Status ReadTensor(uint64_t& offset) {
    TensorInfo info;
    RETURN_IF_ERROR(TakeText(info.name));
    const Status status = ReadShape(info, offset);
    if (!status.ok()) return status.WithContext(fmt::format("tensor '{}'", info.name));
    if (!file_.by_name_.emplace(info.name, file_.tensors_.size()).second)
      return InvalidModel("tensor '{}' is listed twice", info.name);
    file_.tensors_.push_back(std::move(info));
    return OkStatus();
  }

  Status ReadShape(TensorInfo& info, uint64_t& offset) {
    uint32_t rank = 0, type = 0;
    RETURN_IF_ERROR(Take(rank));
    if (rank < 1 || rank > 4) return InvalidModel("rank {}: expected 1 to 4", rank);
    for (uint32_t i = 0; i < rank; ++i) {
      uint64_t extent = 0;
      RETURN_IF_ERROR(Take(extent));
      int64_t& to = i == 0 ? info.columns : info.rows;
      if (extent < 1 || extent > static_cast<uint64_t>(kMaxExtent / to))
        return InvalidModel("extent {} is out of range", extent);
      to *= static_cast<int64_t>(extent);
      info.extents.push_back(static_cast<int64_t>(extent));
    }
    RETURN_IF_ERROR(Take(type));
    RETURN_IF_ERROR(Take(offset));
    info.type = FindType(type);
    if (info.type == nullptr)
      return Unsupported("type {} is not supported; supported: {}", type, TypeNames());
    if (info.columns % info.type->elements != 0)
      return InvalidModel("rows of {} elements are not whole blocks of {}", info.columns,
                          info.type->name);
    return OkStatus();
  }

  Status PlaceTensors(const std::vector<uint64_t>& offsets) {
    int64_t& alignment = file_.alignment_;
    ASSIGN_OR_RETURN(alignment, file_.Int("general.alignment", 32, 1, 1 << 20));
    const int64_t data = std::min<int64_t>((at_ + alignment - 1) / alignment * alignment,
                                           static_cast<int64_t>(bytes_.size()));
    const std::span<const std::byte> rest = bytes_.subspan(data);
    for (size_t i = 0; i < offsets.size(); ++i) {
      TensorInfo& info = file_.tensors_[i];
      const int64_t row = info.row_bytes(), size = static_cast<int64_t>(rest.size());
      const bool fits =
          offsets[i] <= rest.size() && info.rows <= (size - static_cast<int64_t>(offsets[i])) / row;
      if (!fits)
        return InvalidModel(
            "tensor '{}': {} rows of {} bytes at {} lie outside the file's data, {} "
            "bytes",
            info.name, info.rows, row, offsets[i], size);
      info.bytes = {reinterpret_cast<const uint8_t*>(rest.data()) + offsets[i],
                    static_cast<size_t>(info.rows * row)};
    }
    return OkStatus();
  }

  std::span<const std::byte> bytes_;
  File& file_;
  int64_t at_ = 0;
};

bool File::IsGguf(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0;
}

Result<std::shared_ptr<const File>> File::Read(std::span<const std::byte> bytes,
                                               std::shared_ptr<const void> owner,
                                               const std::string& name) {
  if (!IsGguf(bytes)) return InvalidModel("{}: not a GGUF file", name);
  auto file = std::make_shared<File>();
  file->name_ = name;
  file->owner_ = std::move(owner);
  const Status status = Reader(bytes, *file).Run();
  if (!status.ok()) return status.WithContext(name);
  return std::shared_ptr<const File>(std::move(file));
}

Result<std::shared_ptr<const File>> File::Open(const std::string& path) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> mapped, MappedFile::Open(path));
  return Read(mapped->bytes(), mapped, path);
}

std::shared_ptr<const File> File::Replace(const std::shared_ptr<const File>& file,
                                          std::span<const Replaced> tensors,
                                          std::shared_ptr<const void> owner) {
  auto changed = std::make_shared<File>(*file);
  changed->owner_ = std::make_shared<std::pair<std::shared_ptr<const void>, decltype(owner)>>(
      file, std::move(owner));
  for (const Replaced& of : tensors) {
    changed->tensors_[of.tensor].type = of.type;
    changed->tensors_[of.tensor].bytes = of.bytes;
  }
  return changed;
}

const Value* File::Find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

const TensorInfo* File::FindTensor(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

Result<int64_t> File::Int(std::string_view key, std::optional<int64_t> fallback, int64_t low,
                          int64_t high) const {
  const Value* value = Find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr) return InvalidModel("value '{}' is missing", key);
  const auto* whole = std::get_if<int64_t>(value);
  if (whole == nullptr) return InvalidModel("value '{}': expected a whole number", key);
  if (*whole < low || *whole > high)
    return InvalidModel("value '{}': expected {} to {}, got {}", key, low, high, *whole);
  return *whole;
}

Result<double> File::Float(std::string_view key, std::optional<double> fallback) const {
  const Value* value = Find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr) return InvalidModel("value '{}' is missing", key);
  const auto* number = std::get_if<double>(value);
  if (number == nullptr || !std::isfinite(*number))
    return InvalidModel("value '{}': expected a finite float", key);
  return *number;
}

Result<std::string> File::Text(std::string_view key, std::optional<std::string> fallback) const {
  const Value* value = Find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr) return InvalidModel("value '{}' is missing", key);
  const auto* text = std::get_if<std::string>(value);
  if (text == nullptr) return InvalidModel("value '{}': expected a text", key);
  return *text;
}

const std::vector<std::string>* File::Texts(std::string_view key) const {
  const Value* value = Find(key);
  return value == nullptr ? nullptr : std::get_if<std::vector<std::string>>(value);
}

const std::vector<double>* File::Numbers(std::string_view key) const {
  const Value* value = Find(key);
  return value == nullptr ? nullptr : std::get_if<std::vector<double>>(value);
}

}  // namespace fettle::gguf
