#include "device/cuda/memory.h"

namespace fettle::cuda {

fettle::Result<std::shared_ptr<Memory>> Memory::Allocate(std::shared_ptr<PrimaryContext> context,
                                                         int64_t bytes) {
  std::shared_ptr<Memory> memory(new Memory(std::move(context)));
  RETURN_IF_ERROR(memory->Map(bytes));
  return memory;
}

Memory::~Memory() {
  const PrimaryContext::Scope scope(*context_);
  const Api& api = context_->api();
  if (is_mapped_) {
    api.ContextSynchronize();
    api.MemUnmap(address_, bytes_);
  }
  if (address_ != 0) api.MemAddressFree(address_, bytes_);
  if (handle_ != 0) api.MemRelease(handle_);
}

Status Memory::Check(Result code, std::string_view what) const {
  constexpr Result kOutOfMemory = 2;
  if (code == kOutOfMemory)
    return Error(StatusCode::kOutOfMemory, "CUDA: {} of {} bytes: out of memory", what, bytes_);
  return StatusOf(context_->api(), code, what);
}

Status Memory::Map(int64_t bytes) {
  const PrimaryContext::Scope scope(*context_);
  const Api& api = context_->api();
  const AllocationProperties properties{.device = context_->device()};
  size_t page = 0;
  RETURN_IF_ERROR(Check(api.MemGranularity(&page, &properties, 0), "asking for pages"));
  bytes_ = (bytes + page - 1) / page * page;
  RETURN_IF_ERROR(Check(api.MemCreate(&handle_, bytes_, &properties, 0), "allocating memory"));
  RETURN_IF_ERROR(Check(api.MemReserve(&address_, bytes_, 0, 0, 0), "reserving addresses"));
  RETURN_IF_ERROR(Check(api.MemMap(address_, bytes_, 0, handle_, 0), "mapping memory"));
  is_mapped_ = true;
  const AccessDescription access{.device = context_->device()};
  return Check(api.MemSetAccess(address_, bytes_, &access, 1), "mapping memory");
}

fettle::Result<int> Memory::Export() const {
  constexpr int kPosixFile = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
  const PrimaryContext::Scope scope(*context_);
  int file = -1;
  RETURN_IF_ERROR(
      Check(context_->api().MemExport(&file, handle_, kPosixFile, 0), "sharing memory"));
  return file;
}

}  // namespace fettle::cuda
