#include "device/opencl/shared_blocks.h"

#include <unistd.h>

#include <algorithm>

namespace fettle {
namespace {

constexpr cl_mem_properties kOpaqueFile = 0x2060;  // CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR
constexpr int64_t kLargeBytes = 1 << 20;

int64_t RoundUp(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

/// Memory of CUDA's and what OpenCL imported it as.
class SharedBlocks::Block {
 public:
  Block(const OpenClApi& opencl, std::shared_ptr<void> context,
        std::shared_ptr<cuda::Memory> memory)
      : opencl_(opencl), context_(std::move(context)), cuda_(std::move(memory)) {}
  ~Block() {
    if (memory_ != nullptr) opencl_.ReleaseMemObject(memory_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Status Import() {
    ASSIGN_OR_RETURN(const int file, cuda_->Export());
    const cl_mem_properties properties[] = {kOpaqueFile, static_cast<cl_mem_properties>(file), 0};
    cl_int code = CL_SUCCESS;
    memory_ =
        opencl_.CreateBufferWithProperties(static_cast<cl_context>(context_.get()), properties,
                                           CL_MEM_READ_WRITE, cuda_->bytes(), nullptr, &code);
    if (code != CL_SUCCESS) close(file);  // else it is the driver's
    return OpenClStatus(code, "OpenCL: importing memory");
  }

  cl_mem memory() const { return memory_; }
  cuda::Address address() const { return cuda_->address(); }
  int64_t bytes() const { return cuda_->bytes(); }

 private:
  const OpenClApi& opencl_;
  std::shared_ptr<void> context_;
  std::shared_ptr<cuda::Memory> cuda_;
  cl_mem memory_ = nullptr;
};

Result<std::shared_ptr<SharedBlocks::Block>> SharedBlocks::MakeBlock(int64_t bytes) const {
  ASSIGN_OR_RETURN(std::shared_ptr<cuda::Memory> memory, cuda::Memory::Allocate(cuda_, bytes));
  auto block = std::make_shared<Block>(opencl_, context_, std::move(memory));
  RETURN_IF_ERROR(block->Import());
  return block;
}

SharedBlocks::Buffer SharedBlocks::Hand(cl_mem memory, cuda::Address address,
                                        std::shared_ptr<Block> block) {
  const uint64_t id = next_id_++;
  places_[memory] = {address, id};
  // The memory object is released before its owner, so that a newer one may have its name.
  auto forget = [self = shared_from_this(), memory, id, block](void*) {
    const std::lock_guard lock(self->mutex_);
    const auto place = self->places_.find(memory);
    if (place != self->places_.end() && place->second.id == id) self->places_.erase(place);
  };
  return {memory, std::shared_ptr<void>(block.get(), std::move(forget))};
}

Result<SharedBlocks::Buffer> SharedBlocks::Part(int64_t bytes) {
  const int64_t size = RoundUp(bytes, alignment_);
  if (block_ == nullptr || used_ + size > block_->bytes()) {
    ASSIGN_OR_RETURN(block_, MakeBlock(kLargeBytes));
    used_ = 0;
  }
  const cl_buffer_region region{static_cast<size_t>(used_), static_cast<size_t>(bytes)};
  cl_int code = CL_SUCCESS;
  cl_mem memory = opencl_.CreateSubBuffer(block_->memory(), CL_MEM_READ_WRITE,
                                          CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: a part of a buffer"));
  Buffer buffer = Hand(memory, block_->address() + used_, block_);
  used_ += size;
  return buffer;
}

Result<SharedBlocks::Buffer> SharedBlocks::Allocate(int64_t bytes) {
  const int64_t wanted = std::max<int64_t>(bytes, 1);
  if (wanted < kLargeBytes) {
    const std::lock_guard lock(mutex_);
    return Part(wanted);
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<Block> block, MakeBlock(wanted));
  opencl_.RetainMemObject(block->memory());
  const std::lock_guard lock(mutex_);
  return Hand(block->memory(), block->address(), block);
}

std::optional<cuda::Address> SharedBlocks::AddressOf(cl_mem memory) const {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(memory);
  if (place == places_.end()) return std::nullopt;
  return place->second.address;
}

}  // namespace fettle
