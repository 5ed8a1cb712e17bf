#include "language/zero_pages.h"

#include <sys/mman.h>

#include "base/memory_budget.h"

namespace fettle::language {

Result<Tensor> ZeroPages(DType dtype, const Shape& shape) {
  const auto elements = shape.CheckedElements();
  if (!elements)
    return InvalidArgument("shape {} is not a size that memory can hold", shape.ToString());
  const int64_t bytes = StorageBytes(dtype, *elements);
  const size_t size = bytes + kTensorSlack;
  const std::shared_ptr<MemoryBudget>& budget = MemoryBudget::Current();
  RETURN_IF_ERROR(budget->Take(bytes));
  void* const pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    budget->GiveBack(bytes);
    return Error(StatusCode::kOutOfMemory, "out of memory: {} bytes of host memory", bytes);
  }
  const std::shared_ptr<void> owner(pages, [budget, bytes, size](void* memory) {
    ::munmap(memory, size);
    budget->GiveBack(bytes);
  });
  return Tensor::Borrow(dtype, shape, static_cast<std::byte*>(pages), owner);
}

}  // namespace fettle::language
