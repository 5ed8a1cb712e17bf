// Memory of a device that CUDA makes and other interfaces open by a file descriptor.
#pragma once

#include <memory>

#include "device/cuda/primary_context.h"

namespace fettle::cuda {

/// Whole pages of the device (2 MiB), mapped for reading and writing. The destructor waits for
/// everything that the context has launched. Thread-safe.
class Memory {
 public:
  /// kOutOfMemory, kDeviceError.
  static fettle::Result<std::shared_ptr<Memory>> Allocate(std::shared_ptr<PrimaryContext> context,
                                                          int64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Address address() const { return address_; }
  int64_t bytes() const { return static_cast<int64_t>(bytes_); }
  /// A new file descriptor of it, the caller's.
  fettle::Result<int> Export() const;

 private:
  explicit Memory(std::shared_ptr<PrimaryContext> context) : context_(std::move(context)) {}
  Status Map(int64_t bytes);
  Status Check(Result code, std::string_view what) const;

  std::shared_ptr<PrimaryContext> context_;
  Handle handle_ = 0;
  Address address_ = 0;
  size_t bytes_ = 0;
  bool is_mapped_ = false;
};

}  // namespace fettle::cuda
