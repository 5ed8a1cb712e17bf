// Memory of packed constants. Together they are read from beginning to end at each run: in pages of
// 4 KB a network of many small ones waits for addresses to be translated more than for its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/status.h"

namespace fettle::exec {

/// Blocks that lie one behind the other on large pages, but for the first few megabytes, which take
/// no more than they are, and for large blocks, which have such pages of their own. Thread-safe.
class BlobPages {
 public:
  /// As AllocateHost. A block's pages go back to the system with it, its addresses with the last
  /// block that was put beside it.
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
