#include "runtime/package/sections.h"

#include "base/hash.h"

namespace fettle::runtime::package {

Sections::Sections(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                   std::span<const SectionRange> ranges)
    : owner_(std::move(owner)) {
  for (const SectionRange& range : ranges)
    sections_.emplace_back(file.subspan(range.offset, range.bytes), range);
}

Status Sections::Check() const {
  for (const Section& section : sections_) {
    const SectionRange& range = section.range();
    if (HashMapped(section.bytes()) != range.hash)
      return Error(StatusCode::kCorrupt,
                   "the package is damaged: {} bytes at offset {} are not those that were written",
                   range.bytes, range.offset);
  }
  return OkStatus();
}

std::shared_ptr<const ContentGuard> Sections::Guard(const std::shared_ptr<const Sections>& sections,
                                                    size_t index) {
  return {sections, &sections->sections_[index]};
}

}  // namespace fettle::runtime::package
