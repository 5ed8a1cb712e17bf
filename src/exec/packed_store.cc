#include "exec/packed_store.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "base/file.h"
#include "base/subnormals.h"

namespace fettle::exec {
namespace {

std::string Text(const PackedKey& key) {
  std::string text = key.recipe;
  for (uint64_t hash : key.contents) text += fmt::format("|{:016x}", hash);
  return text;
}

/// A large mapped constant while it is packed: pages that were read are dropped time and again, so
/// that it is never in memory as a whole beside its packed form.
class ReadOnce final : public ConstantSource {
 public:
  static constexpr int64_t kKept = int64_t{1} << 20;

  explicit ReadOnce(const Constant& base) : base_(base) {}
  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    base_.CopyTo(begin, count, out);
    const int64_t bytes = StorageBytes(base_.dtype(), count);
    const int64_t before = read_.fetch_add(bytes, std::memory_order_relaxed);
    if (before / kKept != (before + bytes) / kKept) DropMappedPages(base_.raw_bytes());
  }
  uint64_t Hash() const override { return base_.Hash(); }
  std::span<const std::byte> raw_bytes() const override { return base_.raw_bytes(); }

 private:
  const Constant& base_;
  mutable std::atomic<int64_t> read_ = 0;
};

/// What `pack` reads in the place of `constant`.
Constant WhilePacked(const Constant& constant) {
  if (constant.source() != nullptr || std::ssize(constant.raw_bytes()) <= 2 * ReadOnce::kKept)
    return constant;
  return Constant::Generated(constant.dtype(), constant.shape(),
                             std::make_shared<ReadOnce>(constant));
}

Result<std::shared_ptr<const PackedBlob>> Pack(const kernels::PackRequest& request,
                                               const std::vector<const Constant*>& constants,
                                               BlobPages& pages) {
  ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> data, pages.Allocate(request.bytes));
  {
    // What sessions share depends on the mode of none of them.
    const SubnormalScope scope(Subnormals::kKeep);
    std::vector<Constant> read;
    for (const Constant* constant : constants) read.push_back(WhilePacked(*constant));
    std::vector<const Constant*> operands;
    for (const Constant& constant : read) operands.push_back(&constant);
    RETURN_IF_ERROR(request.pack(operands, data.get()));
  }
  for (const Constant* constant : constants) DropMappedPages(constant->raw_bytes());
  return std::make_shared<const PackedBlob>(PackedBlob{data, request.bytes});
}

Result<std::shared_ptr<DeviceMemory>> CopyToImage(const Device& device, const PackedBlob& blob,
                                                  const MemoryRequest& image) {
  ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> copy, device.Allocate(image));
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream({}));
  RETURN_IF_ERROR(stream->Write(*copy, 0, blob.data.get(), blob.bytes));
  RETURN_IF_ERROR(stream->Synchronise());
  return copy;
}

/// Wide integers and booleans may be what a kernel takes addresses from, so they are never taken
/// from what somebody else has packed.
bool MayBeProvided(const std::vector<const Constant*>& constants) {
  return std::any_of(constants.begin(), constants.end(), [](const Constant* constant) {
    return IsFloat(constant->dtype()) ||
           (IsInteger(constant->dtype()) && RowOf(constant->dtype()).bits <= 8);
  });
}

}  // namespace

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

void PackedStore::ForgetDead() {
  if (slots_.size() + hashes_.size() < forget_at_) return;
  std::erase_if(hashes_, [](const auto& entry) { return entry.second.constant.expired(); });
  std::erase_if(slots_, [](const auto& entry) {
    return entry.second.open == nullptr && entry.second.blob.expired();
  });
  std::erase_if(copies_, [](const auto& entry) { return entry.second.expired(); });
  forget_at_ = std::max<size_t>(1024, 2 * (slots_.size() + hashes_.size()));
}

PackedKey PackedStore::KeyOf(const kernels::PackRequest& request, const ir::Graph& group) {
  PackedKey key{request.recipe, {}};
  for (ir::ValueId id : request.constants) {
    const std::shared_ptr<const Constant>& constant = group.value(id).constant;
    FETTLE_CHECK(constant != nullptr, "only constants are packed");
    key.contents.push_back(ContentHash(constant));
  }
  return key;
}

int64_t PackedStore::BytesToPack(std::span<const Wanted> requests) {
  std::set<std::string, std::less<>> seen;
  int64_t bytes = 0;
  for (const auto& [request, group] : requests) {
    std::string text = Text(KeyOf(request, *group));
    std::lock_guard lock(mutex_);
    const auto slot = slots_.find(text);
    const bool is_there =
        slot != slots_.end() && (slot->second.open != nullptr || !slot->second.blob.expired());
    if (!is_there && seen.insert(std::move(text)).second) bytes += request.bytes;
  }
  return bytes;
}

Result<std::shared_ptr<const PackedBlob>> PackedStore::Get(const kernels::PackRequest& request,
                                                           const ir::Graph& group) {
  PackedKey key = KeyOf(request, group);
  std::vector<const Constant*> constants;
  for (ir::ValueId id : request.constants) constants.push_back(group.value(id).constant.get());
  const std::string text = Text(key);
  Open open;
  {
    std::lock_guard lock(mutex_);
    const auto slot = slots_.find(text);
    if (slot != slots_.end()) {
      if (auto blob = slot->second.blob.lock()) return blob;
      if (MayBeProvided(constants)) open = slot->second.open;
    }
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const PackedBlob> blob,
                   open != nullptr ? open() : Pack(request, constants, pages_));
  if (blob->bytes != request.bytes) {
    return Error(StatusCode::kCorrupt, "packed weights '{}' have {} bytes instead of {}",
                 request.recipe, blob->bytes, request.bytes);
  }
  std::lock_guard lock(mutex_);
  ForgetDead();
  Slot& slot = slots_[text];
  // Another thread may have packed the same form meanwhile; all sessions share the first one.
  if (auto first = slot.blob.lock()) return first;
  slot.key = std::move(key);
  slot.blob = blob;
  return blob;
}

Result<std::shared_ptr<DeviceMemory>> PackedStore::GetOn(
    const Device& device, const std::shared_ptr<const PackedBlob>& blob,
    const MemoryRequest* image) {
  const CopyKey key(blob.get(), &device, image == nullptr ? 0 : image->width);
  {
    std::lock_guard lock(mutex_);
    const auto found = copies_.find(key);
    if (found != copies_.end())
      if (auto copy = found->second.lock()) return copy;
  }
  const std::shared_ptr<const std::byte> bytes(blob, blob->data.get());
  ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> copy, image == nullptr
                                                           ? device.Upload(bytes, blob->bytes)
                                                           : CopyToImage(device, *blob, *image));
  std::lock_guard lock(mutex_);
  std::weak_ptr<DeviceMemory>& slot = copies_[key];
  if (auto first = slot.lock()) return first;
  slot = copy;
  return copy;
}

void PackedStore::Provide(const PackedKey& key, Open open) {
  std::lock_guard lock(mutex_);
  Slot& slot = slots_[Text(key)];
  slot.key = key;
  slot.open = std::move(open);
}

std::vector<PackedStore::Entry> PackedStore::Living() const {
  std::lock_guard lock(mutex_);
  std::vector<Entry> living;
  for (const auto& [text, slot] : slots_) {
    if (auto blob = slot.blob.lock()) living.push_back({slot.key, std::move(blob)});
  }
  return living;
}

int64_t PackedStore::bytes() const {
  int64_t bytes = 0;
  for (const Entry& entry : Living()) bytes += entry.blob->bytes;
  return bytes;
}

size_t PackedStore::remembered() const {
  std::lock_guard lock(mutex_);
  return slots_.size() + hashes_.size();
}

}  // namespace fettle::exec
