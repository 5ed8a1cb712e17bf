#include "tensor/tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/hash.h"
#include "base/memory_budget.h"
#include "base/memory_marks.h"

namespace fettle {
namespace {

/// Blocks from this size on lie on huge pages where the system has them: a pass over all of it then
/// finds its pages in the TLB.
constexpr size_t kLarge = size_t{4} << 20, kHugePage = size_t{2} << 20;

/// Blocks from this size on begin pages, as callers' arrays do but for a few bytes: stores that are
/// a little ahead of loads in the bits of an address within a page hold those up.
constexpr size_t kPaged = size_t{64} << 10, kPage = 4096;

std::align_val_t AlignmentOf(size_t size) {
  if (size >= kLarge) return std::align_val_t(kHugePage);
  return std::align_val_t(size >= kPaged ? kPage : kTensorAlignment);
}

/// Blocks from this size on are mapped, as malloc maps them: their pages are zeros that nobody has
/// to write.
constexpr size_t kMapped = size_t{32} << 20;

/// Null where the system has no such block.
std::byte* MapBlock(size_t size) {
  void* const whole = ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(whole);
  const size_t before = -reinterpret_cast<uintptr_t>(begin) % kHugePage;
  const size_t page = ::getpagesize(), used = (before + size + page - 1) / page * page;
  if (before > 0) ::munmap(begin, before);
  if (used < size + kHugePage) ::munmap(begin + used, size + kHugePage - used);
  return begin + before;
}

/// All but `bytes` at its beginning is zero; from kMapped on all of it.
std::byte* NewBlock(int64_t bytes) {
  const size_t size = bytes + kTensorSlack;
  if (size >= kMapped) return MapBlock(size);
  auto* const block =
      static_cast<std::byte*>(::operator new(size, AlignmentOf(size), std::nothrow));
  if (block != nullptr) std::memset(block + bytes, 0, kTensorSlack);
  return block;
}

struct BlockDelete {
  std::shared_ptr<MemoryBudget> budget;
  int64_t bytes;
  void operator()(std::byte* p) const {
    const size_t size = bytes + kTensorSlack;
    if (size >= kMapped) {
      ::munmap(p, size);
    } else {
      ::operator delete(p, AlignmentOf(size));
    }
    budget->GiveBack(bytes);
  }
};

template <typename W>
W LoadAs(DType dtype, const std::byte* element) {
  W value{};
  DispatchDType(dtype, [&]<typename T>() {
    T raw;
    std::memcpy(&raw, element, sizeof(T));
    value = static_cast<W>(Widen(raw));
  });
  return value;
}

}  // namespace

Result<std::shared_ptr<std::byte>> AllocateHost(int64_t bytes) {
  FETTLE_CHECK(bytes >= 0, "negative allocation");
  const size_t size = bytes + kTensorSlack;
  const std::shared_ptr<MemoryBudget>& budget = MemoryBudget::Current();
  RETURN_IF_ERROR(budget->Take(bytes));
  std::byte* const memory = NewBlock(bytes);
  if (memory == nullptr) {
    budget->GiveBack(bytes);
    return Error(StatusCode::kOutOfMemory, "out of memory: {} bytes of host memory", bytes);
  }
  // A hint: what the system makes of it is its own.
  if (size >= kLarge) ::madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE);
  marks::Fresh(memory, bytes);
  return std::shared_ptr<std::byte>(memory, BlockDelete{budget, bytes});
}

double HostView::GetDouble(int64_t offset) const {
  return LoadAs<double>(dtype, data + StorageBytes(dtype, offset));
}

int64_t HostView::GetInt(int64_t offset) const {
  return LoadAs<int64_t>(dtype, data + StorageBytes(dtype, offset));
}

void HostView::SetDouble(int64_t offset, double value) const {
  DispatchDType(dtype, [&]<typename T>() { as<T>()[offset] = Narrow<T>(value); });
}

void HostView::SetInt(int64_t offset, int64_t value) const {
  DispatchDType(dtype, [&]<typename T>() { as<T>()[offset] = Narrow<T>(value); });
}

Result<Tensor> Tensor::Create(DType dtype, Shape shape) {
  const auto elements = shape.CheckedElements();
  if (!elements)
    return InvalidArgument("shape {} is not a size that memory can hold", shape.ToString());
  if (!IsStored(dtype))
    return Unsupported("tensors of type {} cannot be computed on", DTypeName(dtype));
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  const int64_t bytes = StorageBytes(dtype, *elements);
  ASSIGN_OR_RETURN(tensor.data_, AllocateHost(bytes));
  if (bytes + kTensorSlack < kMapped || marks::On()) std::memset(tensor.data_.get(), 0, bytes);
  return tensor;
}

Tensor Tensor::Borrow(DType dtype, Shape shape, std::byte* data, std::shared_ptr<void> owner) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.data_ = std::shared_ptr<std::byte>(std::move(owner), data);
  return tensor;
}

Tensor Tensor::Reshaped(Shape shape) const {
  FETTLE_CHECK(shape.elements() == elements(), "reshape must keep the element count");
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

Constant Constant::FromBytes(DType dtype, Shape shape, std::span<const std::byte> bytes,
                             std::shared_ptr<const void> owner) {
  FETTLE_CHECK(static_cast<int64_t>(bytes.size()) == StorageBytes(dtype, shape.elements()),
               "constant of the wrong size");
  Constant constant;
  constant.dtype_ = dtype;
  constant.shape_ = std::move(shape);
  constant.bytes_ = bytes;
  constant.owner_ = std::move(owner);
  return constant;
}

Constant Constant::FromBytes(DType dtype, Shape shape, std::span<const std::byte> bytes,
                             std::shared_ptr<const void> owner,
                             std::shared_ptr<const ContentGuard> guard) {
  Constant constant = FromBytes(dtype, std::move(shape), bytes, std::move(owner));
  constant.guard_ = std::move(guard);
  return constant;
}

Constant Constant::FromTensor(const Tensor& tensor) {
  return FromBytes(tensor.dtype(), tensor.shape(), tensor.bytes(), tensor.storage());
}

Constant Constant::Splat(DType dtype, Shape shape, std::span<const std::byte> element) {
  FETTLE_CHECK(static_cast<int64_t>(element.size()) == StorageBytes(dtype, 1),
               "splat element of the wrong size");
  auto owner = std::make_shared<std::vector<std::byte>>(element.begin(), element.end());
  Constant constant;
  constant.dtype_ = dtype;
  constant.shape_ = std::move(shape);
  constant.bytes_ = *owner;
  constant.owner_ = owner;
  constant.splat_ = true;
  return constant;
}

Constant Constant::Generated(DType dtype, Shape shape,
                             std::shared_ptr<const ConstantSource> source) {
  Constant constant;
  constant.dtype_ = dtype;
  constant.shape_ = std::move(shape);
  constant.source_ = std::move(source);
  return constant;
}

void Constant::CopyTo(int64_t begin, int64_t count, std::byte* out) const {
  if (count == 0) return;  // an empty constant may have no bytes at all
  if (source_ != nullptr) return source_->CopyTo(begin, count, out);
  const std::span<const std::byte> elements = bytes();
  if (!splat_) {
    std::memcpy(out, elements.data() + StorageBytes(dtype_, begin), StorageBytes(dtype_, count));
    return;
  }
  // What is there twice over, until all is.
  const size_t bytes = StorageBytes(dtype_, count);
  size_t written = std::min(elements.size(), bytes);
  std::memcpy(out, elements.data(), written);
  for (size_t more; written < bytes; written += more)
    std::memcpy(out + written, out, more = std::min(written, bytes - written));
}

Result<Tensor> Constant::ToTensor() const {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype_, shape_));
  CopyTo(0, elements(), tensor.data());
  return tensor;
}

Constant Constant::Reshaped(Shape shape) const {
  FETTLE_CHECK(shape.elements() == elements(), "reshape must keep the element count");
  Constant constant = *this;
  constant.shape_ = std::move(shape);
  return constant;
}

uint64_t Constant::Hash() const {
  const uint64_t content = source_ != nullptr  ? source_->Hash()
                           : guard_ != nullptr ? guard_->hash()
                                               : HashMapped(bytes_);
  const uint64_t kind = static_cast<uint64_t>(dtype_) * 4 + (splat_               ? 2
                                                             : source_ != nullptr ? 1
                                                                                  : 0);
  return HashText(shape_.ToString(), content ^ (kind * 0x9e3779b97f4a7c15u));
}

double Constant::GetDouble(int64_t index) const {
  if (source_ != nullptr) {
    std::array<std::byte, 16> element;
    source_->CopyTo(index, 1, element.data());
    return LoadAs<double>(dtype_, element.data());
  }
  return LoadAs<double>(dtype_, bytes().data() + StorageBytes(dtype_, splat_ ? 0 : index));
}

int64_t Constant::GetInt(int64_t index) const {
  if (source_ != nullptr) {
    std::array<std::byte, 16> element;
    source_->CopyTo(index, 1, element.data());
    return LoadAs<int64_t>(dtype_, element.data());
  }
  return LoadAs<int64_t>(dtype_, bytes().data() + StorageBytes(dtype_, splat_ ? 0 : index));
}

}  // namespace fettle
