#include "exec/packed_store.h"

#include "base/file.h"

namespace fettle::exec {

uint64_t PackedStore::ContentHash(const std::shared_ptr<const Constant>& constant) {
  {
    std::lock_guard lock(mutex_);
    const auto it = hashes_.find(constant.get());
    if (it != hashes_.end() && !it->second.constant.expired()) return it->second.hash;
  }
  const uint64_t hash = constant->Hash();
  std::lock_guard lock(mutex_);
  hashes_[constant.get()] = {constant, hash};
  return hash;
}

Result<std::shared_ptr<const PackedBlob>> PackedStore::Get(const kernels::PackRequest& request,
                                                           const ir::Graph& group) {
  std::string key = request.recipe;
  std::vector<const Constant*> constants;
  for (ir::ValueId id : request.constants) {
    const std::shared_ptr<const Constant>& constant = group.value(id).constant;
    FETTLE_CHECK(constant != nullptr, "only constants are packed");
    key += fmt::format("|{:016x}", ContentHash(constant));
    constants.push_back(constant.get());
  }
  {
    std::lock_guard lock(mutex_);
    if (auto blob = blobs_[key].lock()) return blob;
  }
  auto blob = std::make_shared<PackedBlob>();
  blob->bytes = request.bytes;
  ASSIGN_OR_RETURN(blob->data, AllocateHost(request.bytes));
  RETURN_IF_ERROR(request.pack(constants, blob->data.get()));
  for (const Constant* constant : constants) DropMappedPages(constant->raw_bytes());
  std::lock_guard lock(mutex_);
  // Another thread may have packed the same form meanwhile; all sessions share the first one.
  if (auto first = blobs_[key].lock()) return first;
  blobs_[key] = blob;
  return std::shared_ptr<const PackedBlob>(blob);
}

int64_t PackedStore::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const auto& [key, weak] : blobs_) {
    if (const auto blob = weak.lock()) bytes += blob->bytes;
  }
  return bytes;
}

}  // namespace fettle::exec
