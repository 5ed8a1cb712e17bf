// Finds a text among many names.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fettle::language {

/// A hash table of places in a list: made without an allocation for each name.
class NameIndex {
 public:
  NameIndex() = default;
  explicit NameIndex(std::vector<std::string> names) : names_(std::move(names)) {
    slots_.assign(std::bit_ceil(2 * names_.size() + 1), -1);
    for (size_t i = 0; i < names_.size(); ++i) {
      const size_t slot = SlotOf(names_[i]);
      if (slots_[slot] < 0) slots_[slot] = static_cast<int32_t>(i);
    }
  }

  /// The first place of the name; -1: it is not there.
  int32_t Find(std::string_view name) const { return slots_.empty() ? -1 : slots_[SlotOf(name)]; }

 private:
  /// Where the name stands, or would.
  size_t SlotOf(std::string_view name) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = std::hash<std::string_view>()(name) & mask;
    while (slots_[slot] >= 0 && names_[slots_[slot]] != name) slot = (slot + 1) & mask;
    return slot;
  }

  std::vector<std::string> names_;
  std::vector<int32_t> slots_;
};

}  // namespace fettle::language
