// Memory of packed constants. A run reads all of them from beginning to end. In pages of 4 KB a
// network of many small constants waits longer for address translation than for their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/status.h"

namespace fettle::exec {

/// Blocks are placed one behind the other on large pages. Exceptions are the first few megabytes,
/// which take only what they need, and large blocks, which have large pages of their own.
/// Thread-safe.
class BlobPages {
 public:
  /// As AllocateHost. A block's pages go back to the system when it is freed; its addresses when
  /// the last block that was placed beside it is freed.
  Result<std::shared_ptr<std::byte>> Allocate(int64_t bytes);

 private:
  /// Room for `size` bytes; null where the system gives none.
  std::byte* Place(size_t size);

  std::mutex mutex_;
  size_t apart_ = 0;  // bytes that were allocated alone
  std::shared_ptr<std::byte> region_;
  size_t used_ = 0;  // of the region
};

}  // namespace fettle::exec
