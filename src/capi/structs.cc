#include "capi/structs.h"

#include <algorithm>
#include <cstring>

namespace fettle::capi {
namespace {

/// No struct will ever be larger: what says so was not initialised.
constexpr size_t kMaxStructSize = 4096;

/// A struct's first member.
size_t SizeOf(const void* caller) {
  size_t size = 0;
  std::memcpy(&size, caller, sizeof(size));
  return size;
}

}  // namespace

Status CheckStructSize(std::string_view name, std::span<const size_t> sizes, size_t size) {
  if (size == 0)
    return InvalidArgument("{}: struct_size is 0: initialise it with its FETTLE_..._INIT or sizeof",
                           name);
  const bool is_newer = size > sizes.back() && size <= kMaxStructSize;
  if (is_newer || std::find(sizes.begin(), sizes.end(), size) != sizes.end()) return OkStatus();
  return InvalidArgument("{}: struct_size is {}, which no version has; this one has {}", name, size,
                         sizes.back());
}

Status ReadStructBytes(std::string_view name, std::span<const size_t> sizes, const void* from,
                       void* to) {
  const size_t size = SizeOf(from);
  RETURN_IF_ERROR(CheckStructSize(name, sizes, size));
  const auto* const bytes = static_cast<const std::byte*>(from);
  const size_t known = std::min(size, sizes.back());
  if (std::any_of(bytes + known, bytes + size, [](std::byte byte) { return byte != std::byte{0}; }))
    return Unsupported("{}: a member is set that fettle {} does not know", name, FETTLE_VERSION);
  std::memcpy(to, from, known);
  return OkStatus();
}

Status WriteStructBytes(std::string_view name, std::span<const size_t> sizes, const void* from,
                        void* to) {
  const size_t size = SizeOf(to);
  RETURN_IF_ERROR(CheckStructSize(name, sizes, size));
  const size_t known = std::min(size, sizes.back());
  auto* const bytes = static_cast<std::byte*>(to);
  std::memcpy(bytes + sizeof(size), static_cast<const std::byte*>(from) + sizeof(size),
              known - sizeof(size));
  std::memset(bytes + known, 0, size - known);
  return OkStatus();
}

}  // namespace fettle::capi
