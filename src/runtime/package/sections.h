// The sections of a mapped package.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "tensor/tensor.h"

namespace fettle::runtime::package {

/// Where a section lies in the file's bytes, and what they should hash to.
struct SectionRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

/// Owns the mapping. Immutable, thread-safe.
class Sections {
 public:
  /// `ranges` lie within `file`, which `owner` keeps alive.
  Sections(std::span<const std::byte> file, std::shared_ptr<const void> owner,
           std::span<const SectionRange> ranges);

  size_t size() const { return sections_.size(); }
  std::span<const std::byte> bytes(size_t index) const { return sections_[index].bytes(); }
  /// OK if all bytes are those that were written; kCorrupt otherwise. Reads them all, on several
  /// threads where they are many.
  Status Check() const;
  /// The hash of a section; lives as long as `sections`.
  static std::shared_ptr<const ContentGuard> Guard(const std::shared_ptr<const Sections>& sections,
                                                   size_t index);

 private:
  /// The first section whose bytes are others; size() where there is none.
  size_t FirstDamaged() const;

  class Section final : public ContentGuard {
   public:
    Section(std::span<const std::byte> bytes, const SectionRange& range)
        : bytes_(bytes), range_(range) {}
    uint64_t hash() const override { return range_.hash; }
    std::span<const std::byte> bytes() const { return bytes_; }
    const SectionRange& range() const { return range_; }

   private:
    std::span<const std::byte> bytes_;
    SectionRange range_;
  };

  std::shared_ptr<const void> owner_;
  std::deque<Section> sections_;
};

}  // namespace fettle::runtime::package
