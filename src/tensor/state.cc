#include "tensor/state.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace fettle {
namespace {

constexpr std::string_view kMemories[] = {"host", "buffer", "image2d", "image1d"};

template <typename T, size_t N>
bool Find(const std::string_view (&names)[N], std::string_view name, T& out) {
  const auto* found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return false;
  out = static_cast<T>(found - std::begin(names));
  return true;
}

bool ReadDevice(std::string_view name, DeviceKind& out) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > sizeof(DeviceKind) || !std::ranges::all_of(name, is_plain))
    return false;
  out = DeviceKindOf(name);
  return true;
}

}  // namespace

std::string DeviceKindName(DeviceKind kind) {
  std::string name;
  for (auto packed = static_cast<uint64_t>(kind); packed != 0; packed >>= 8)
    name += static_cast<char>(packed & 0xff);
  return name;
}

std::string StateName(const State& state, int rank) {
  return fmt::format("{}:{}:{}:{}{}", DeviceKindName(state.device),
                     kMemories[static_cast<int>(state.memory)], LayoutName(state.layout, rank),
                     DTypeName(state.storage), state.external ? ":external" : "");
}

Result<State> StateFromName(std::string_view name, int rank) {
  // The general layout form may hold ':' inside parentheses; split only outside of them.
  std::vector<std::string_view> parts(1, name.substr(0, 0));
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && name[i] == '(') ++depth;
    if (i < name.size() && name[i] == ')') --depth;
    if (i == name.size() || (name[i] == ':' && depth == 0)) {
      parts.back() = name.substr(begin, i - begin);
      begin = i + 1;
      if (i < name.size()) parts.emplace_back();
    }
  }
  State state;
  const bool sized = parts.size() == 4 || (parts.size() == 5 && parts[4] == "external");
  if (!sized || !ReadDevice(parts[0], state.device) || !Find(kMemories, parts[1], state.memory)) {
    return InvalidArgument("state '{}': expected DEVICE:MEMORY:LAYOUT:TYPE[:external]", name);
  }
  const auto layout = LayoutFromName(parts[2], rank);
  const auto storage = DTypeFromName(parts[3]);
  if (!layout || !storage)
    return InvalidArgument("state '{}': unknown layout or type at rank {}", name, rank);
  state.layout = *layout;
  state.storage = *storage;
  state.external = parts.size() == 5;
  return state;
}

int64_t StateBytes(const Shape& shape, const State& state) {
  return StorageBytes(state.storage, PhysicalElements(shape, state.layout));
}

}  // namespace fettle
