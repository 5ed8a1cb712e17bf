// The sections of a package that is being written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/file.h"
#include "runtime/package/sections.h"
#include "tensor/compact_floats.h"
#include "tensor/tensor.h"

namespace fettle::runtime::package {

/// Collects what the sections will hold, then writes them one after the other; of computed
/// constants only one is in memory at a time.
class SectionList {
 public:
  /// Bytes that `owner` keeps alive. The same range of memory becomes one section.
  Result<uint32_t> Add(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  /// All elements of a constant that is no splat.
  Result<uint32_t> Add(const Constant& constant);
  /// The same of a 4-bit type, two to a byte.
  Result<uint32_t> AddNibbles(const Constant& constant);
  /// The same of f32 in a layout that FindCompact found.
  Result<uint32_t> AddCompact(const Constant& constant, const CompactLayout& layout);

  const std::vector<SectionRange>& ranges() const { return ranges_; }
  /// Of all sections with the zeros between and behind them.
  uint64_t file_bytes() const { return end_; }
  Status Write(FileWriter& file) const;

 private:
  struct Held {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  using Open = std::function<Result<Held>()>;
  Result<uint32_t> AddOpened(Open open);

  std::vector<SectionRange> ranges_;
  std::vector<Open> open_;
  std::map<std::pair<const std::byte*, size_t>, uint32_t> known_;
  uint64_t end_ = 0;
};

}  // namespace fettle::runtime::package
