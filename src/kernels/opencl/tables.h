// Tables that kernels are launched with.
#pragma once

#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// `table` as a packed operand; those of equal `name` and content share memory. An empty table
/// takes one element, since it still is an argument.
template <typename T>
PackRequest TablePack(std::string_view name, std::vector<T> table) {
  if (table.empty()) table.resize(1);
  const auto bytes = std::as_bytes(std::span(table));
  std::string recipe = fmt::format("opencl.{}.{:016x}", name, HashBytes(bytes));
  const auto size = static_cast<int64_t>(bytes.size());
  return {.constants = {},
          .recipe = std::move(recipe),
          .bytes = size,
          .pack = [table = std::move(table)](std::span<const Constant* const>, std::byte* out) {
            std::memcpy(out, table.data(), table.size() * sizeof(T));
            return OkStatus();
          }};
}

}  // namespace fettle::kernels
