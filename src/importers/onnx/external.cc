#include "importers/onnx/external.h"

#include <charconv>
#include <filesystem>
#include <optional>

#include "importers/onnx/wire.h"

namespace fettle::onnx {
namespace {

std::optional<uint64_t> ParseSize(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool LeavesFolder(const std::filesystem::path& path) {
  if (path.is_absolute() || path.has_root_name()) return true;
  for (const auto& part : path) {
    if (part == "..") return true;
  }
  return false;
}

bool IsInside(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const std::filesystem::path relative = file.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> ExternalFiles::Open(std::string_view location) {
  if (const auto it = files_.find(location); it != files_.end()) return it->second;
  const std::string shown = Printable(location);
  if (folder_.empty())
    return InvalidModel("external data '{}': a model in memory cannot name files", shown);
  if (location.empty()) return InvalidModel("external data: no location");
  if (location.find('\0') != std::string_view::npos || LeavesFolder(location))
    return InvalidModel("external data '{}': is outside the model's folder", shown);

  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(folder_, error);
  if (error) return Error(StatusCode::kIo, "{}: {}", folder_, error.message());
  const std::filesystem::path file = std::filesystem::canonical(folder / location, error);
  if (error) {
    const bool missing = error == std::errc::no_such_file_or_directory;
    return Error(missing ? StatusCode::kNotFound : StatusCode::kIo, "external data '{}': {}", shown,
                 error.message());
  }
  if (!IsInside(file, folder))
    return InvalidModel("external data '{}': is a link that leaves the model's folder", shown);
  Result<std::shared_ptr<const MappedFile>> mapped = MappedFile::Open(file.string());
  if (!mapped.ok()) return mapped.status().WithContext("external data");
  files_.emplace(location, *mapped);
  return mapped;
}

Result<std::span<const std::byte>> ExternalRange(std::span<const std::byte> file,
                                                 std::string_view offset, std::string_view length,
                                                 int64_t needed) {
  const auto size = static_cast<uint64_t>(needed);
  const std::optional<uint64_t> begin = offset.empty() ? 0 : ParseSize(offset);
  const std::optional<uint64_t> count = length.empty() ? size : ParseSize(length);
  if (!begin) return InvalidModel("external data: offset '{}' is not a number", Printable(offset));
  if (!count) return InvalidModel("external data: length '{}' is not a number", Printable(length));
  if (*count != size)
    return InvalidModel("external data: length {}, but the tensor needs {} bytes", *count, size);
  if (*begin > file.size() || size > file.size() - *begin) {
    return InvalidModel("external data: {} bytes at {} of a file of {} bytes", size, *begin,
                        file.size());
  }
  return file.subspan(*begin, size);
}

}  // namespace fettle::onnx
