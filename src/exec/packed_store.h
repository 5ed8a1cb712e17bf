// The store of packed constants: one blob per (contents, recipe), shared by whoever asks for an
// equal key.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "kernels/kernel.h"

namespace fettle::exec {

/// A packed form. Immutable once made.
struct PackedBlob {
  std::shared_ptr<std::byte> data;
  int64_t bytes = 0;
};

/// Thread-safe. A blob lives as long as anyone holds it.
class PackedStore {
 public:
  /// The blob for `request` on the constants of `group`; packs it at the first request.
  Result<std::shared_ptr<const PackedBlob>> Get(const kernels::PackRequest& request,
                                                const ir::Graph& group);
  /// Bytes of all living blobs.
  int64_t bytes() const;

 private:
  uint64_t ContentHash(const std::shared_ptr<const Constant>& constant);

  struct Hashed {
    std::weak_ptr<const Constant> constant;
    uint64_t hash = 0;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const PackedBlob>> blobs_;
  std::unordered_map<const Constant*, Hashed> hashes_;
};

}  // namespace fettle::exec
