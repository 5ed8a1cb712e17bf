#include "exec/blob_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/memory_budget.h"
#include "base/memory_marks.h"
#include "tensor/tensor.h"

namespace fettle::exec {
namespace {

/// Blocks from kLarge on, and the first kApart bytes, are AllocateHost's.
constexpr size_t kLarge = size_t{4} << 20, kApart = size_t{4} << 20;
constexpr size_t kRegion = size_t{32} << 20, kHugePage = size_t{2} << 20;
/// Blocks from kPaged on begin pages, as AllocateHost's do.
constexpr size_t kPaged = size_t{64} << 10, kPage = 4096;

size_t UpTo(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// kRegion zeros that take memory where they are written; null where there are none.
std::shared_ptr<std::byte> MapRegion() {
  constexpr size_t kMapped = kRegion + kHugePage;
  void* const whole = ::mmap(nullptr, kMapped, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(whole);
  std::byte* const region = begin + (-reinterpret_cast<uintptr_t>(begin) % kHugePage);
  ::madvise(region, kRegion, MADV_HUGEPAGE);  // a hint
  return {region, [whole](std::byte*) { ::munmap(whole, kMapped); }};
}

/// A block of a region.
struct GiveBlockBack {
  std::shared_ptr<std::byte> region;
  std::shared_ptr<MemoryBudget> budget;
  int64_t bytes;
  void operator()(std::byte* block) const {
    const uintptr_t page = ::getpagesize(), at = reinterpret_cast<uintptr_t>(block);
    const uintptr_t begin = UpTo(at, page), end = (at + bytes) / page * page;
    if (begin < end && region.use_count() > 1)
      ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    budget->GiveBack(bytes);
  }
};

}  // namespace

std::byte* BlobPages::Place(size_t size) {
  size_t at = UpTo(used_, size >= kPaged ? kPage : kTensorAlignment);
  if (region_ == nullptr || at + size > kRegion) {
    region_ = MapRegion();
    at = 0;
  }
  used_ = at + size;
  return region_ == nullptr ? nullptr : region_.get() + at;
}

Result<std::shared_ptr<std::byte>> BlobPages::Allocate(int64_t bytes) {
  const size_t size = bytes + kTensorSlack;
  const std::lock_guard lock(mutex_);
  if (size >= kLarge || apart_ + size <= kApart || marks::On()) {
    if (size < kLarge) apart_ += size;
    return AllocateHost(bytes);
  }
  const std::shared_ptr<MemoryBudget>& budget = MemoryBudget::Current();
  RETURN_IF_ERROR(budget->Take(bytes));
  std::byte* const block = Place(size);
  if (block != nullptr)
    return std::shared_ptr<std::byte>(block, GiveBlockBack{region_, budget, bytes});
  budget->GiveBack(bytes);
  return Error(StatusCode::kOutOfMemory, "out of memory: {} bytes of host memory", bytes);
}

}  // namespace fettle::exec
