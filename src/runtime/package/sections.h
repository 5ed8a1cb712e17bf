// The sections of a mapped package: bytes that are checked when they are first read.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
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

/// Owns the mapping. Thread-safe.
class Sections {
 public:
  /// `ranges` lie within `file`, which `owner` keeps alive; `name` starts messages.
  Sections(std::string name, std::span<const std::byte> file, std::shared_ptr<const void> owner,
           std::span<const SectionRange> ranges);

  size_t size() const { return sections_.size(); }
  std::span<const std::byte> bytes(size_t index) const { return sections_[index].bytes(); }
  /// OK if the section's bytes are those that were written; kCorrupt otherwise. Reads them at the
  /// first call.
  Status Check(size_t index) const;
  /// The guard of a section; lives as long as `sections`.
  static std::shared_ptr<const ContentGuard> Guard(const std::shared_ptr<const Sections>& sections,
                                                   size_t index);
  /// OK, or what the first failed check said: also of sections that were read through their guard.
  Status damage() const;

 private:
  class Section final : public ContentGuard {
   public:
    Section(const Sections& all, std::span<const std::byte> bytes, const SectionRange& range)
        : all_(all), bytes_(bytes), range_(range) {}
    void BeforeRead() const override { (void)IsIntact(); }
    uint64_t hash() const override { return range_.hash; }
    std::span<const std::byte> bytes() const { return bytes_; }
    bool IsIntact() const;

   private:
    enum class State : uint8_t { kUnread, kIntact, kDamaged };
    const Sections& all_;
    std::span<const std::byte> bytes_;
    SectionRange range_;
    mutable std::atomic<State> state_{State::kUnread};
  };

  void Report(const SectionRange& range) const;

  std::string name_;
  std::shared_ptr<const void> owner_;
  std::deque<Section> sections_;
  mutable std::atomic<bool> damaged_{false};
  mutable std::mutex mutex_;
  mutable Status damage_;
};

}  // namespace fettle::runtime::package
