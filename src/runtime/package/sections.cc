#include "runtime/package/sections.h"

#include "base/hash.h"

namespace fettle::runtime::package {

Sections::Sections(std::string name, std::span<const std::byte> file,
                   std::shared_ptr<const void> owner, std::span<const SectionRange> ranges)
    : name_(std::move(name)), owner_(std::move(owner)) {
  for (const SectionRange& range : ranges)
    sections_.emplace_back(*this, file.subspan(range.offset, range.bytes), range);
}

bool Sections::Section::IsIntact() const {
  State state = state_.load(std::memory_order_acquire);
  if (state == State::kUnread) {
    // Several threads may check at once; they find the same.
    state = HashMapped(bytes_) == range_.hash ? State::kIntact : State::kDamaged;
    if (state == State::kDamaged) all_.Report(range_);
    state_.store(state, std::memory_order_release);
  }
  return state == State::kIntact;
}

Status Sections::Check(size_t index) const {
  return sections_[index].IsIntact() ? OkStatus() : damage();
}

std::shared_ptr<const ContentGuard> Sections::Guard(const std::shared_ptr<const Sections>& sections,
                                                    size_t index) {
  return {sections, &sections->sections_[index]};
}

Status Sections::damage() const {
  if (!damaged_.load(std::memory_order_acquire)) return OkStatus();
  std::lock_guard lock(mutex_);
  return damage_;
}

void Sections::Report(const SectionRange& range) const {
  std::lock_guard lock(mutex_);
  if (!damage_.ok()) return;
  damage_ =
      Error(StatusCode::kCorrupt,
            "{}: the package is damaged: {} bytes at offset {} are not those that were written",
            name_, range.bytes, range.offset);
  damaged_.store(true, std::memory_order_release);
}

}  // namespace fettle::runtime::package
