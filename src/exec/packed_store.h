// The store of packed constants: one blob per (contents, recipe), shared by all who ask for an
// equal key.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/blob_pages.h"
#include "kernels/kernel.h"

namespace fettle::exec {

/// A packed form: kTensorAlignment and kTensorSlack hold. Never written once made.
struct PackedBlob {
  std::shared_ptr<std::byte> data;
  int64_t bytes = 0;
};

/// What a blob is made of: equal keys mean equal bytes.
struct PackedKey {
  std::string recipe;
  std::vector<uint64_t> contents;  // Constant::Hash of each constant
  auto operator<=>(const PackedKey&) const = default;
};

/// Thread-safe. A blob lives as long as anyone holds it.
class PackedStore {
 public:
  /// The blob for `request` on the constants of `group`: a living one, else a provided one, else
  /// it is packed.
  Result<std::shared_ptr<const PackedBlob>> Get(const kernels::PackRequest& request,
                                                const ir::Graph& group);

  using Wanted = std::pair<kernels::PackRequest, const ir::Graph*>;
  /// Bytes that Get would allocate for all of the requests on their groups together: equal blobs
  /// once, those that live or are provided not at all.
  int64_t BytesToPack(std::span<const Wanted> requests);

  /// The same blob in a buffer of `device`, or in `image` where that is not null, copied there once
  /// for all who hold both.
  Result<std::shared_ptr<DeviceMemory>> GetOn(const Device& device,
                                              const std::shared_ptr<const PackedBlob>& blob,
                                              const MemoryRequest* image = nullptr);

  /// Makes or finds a blob; called without locks, by several threads at once.
  using Open = std::function<Result<std::shared_ptr<const PackedBlob>>()>;
  /// From now on calls `open` for this blob where nobody holds it.
  void Provide(const PackedKey& key, Open open);

  struct Entry {
    PackedKey key;
    std::shared_ptr<const PackedBlob> blob;
  };
  /// All living blobs, in the order of their keys.
  std::vector<Entry> Living() const;
  /// Bytes of all living blobs.
  int64_t bytes() const;
  /// How many forms and constants it remembers: of dead ones no more than of living ones, or a
  /// thousand.
  size_t remembered() const;

 private:
  PackedKey KeyOf(const kernels::PackRequest& request, const ir::Graph& group);
  /// Forgets blobs that nobody holds or provides, each time that the number has doubled. Needs the
  /// lock.
  void ForgetDead();
  uint64_t ContentHash(const std::shared_ptr<const Constant>& constant);

  struct Hashed {
    std::weak_ptr<const Constant> constant;
    uint64_t hash = 0;
  };
  struct Slot {
    PackedKey key;
    std::weak_ptr<const PackedBlob> blob;
    Open open;  // null: pack it
  };
  BlobPages pages_;
  mutable std::mutex mutex_;
  size_t forget_at_ = 1024;                         // entries of slots_ and hashes_
  std::map<std::string, Slot, std::less<>> slots_;  // by the key's text
  std::unordered_map<const Constant*, Hashed> hashes_;
  /// The width of an image, 0 of a buffer. Who holds a copy holds its blob, so a blob's address is
  /// not used again while a copy of it lives.
  using CopyKey = std::tuple<const PackedBlob*, const Device*, int64_t>;
  std::map<CopyKey, std::weak_ptr<DeviceMemory>> copies_;
};

}  // namespace fettle::exec
