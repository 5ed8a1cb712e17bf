#include "language/cache_pool.h"

#include <algorithm>

#include "ops/attention/byte_rows.h"

namespace fettle::language {

Result<DType> ReadCacheType(std::string_view name) {
  if (name == "f16") return DType::kF16;
  if (name == "bytes") return DType::kI8;
  return InvalidArgument("cache: expected f16 or bytes, got '{}'", name);
}

CachePool::CachePool(const gguf::Decoder& decoder, int64_t context, int64_t caches, DType type,
                     std::shared_ptr<const Device> device)
    : decoder_(decoder),
      context_(context),
      count_(caches),
      type_(type),
      device_(std::move(device)),
      taken_(caches) {}

Status CachePool::Add(const std::string& name, int64_t size) {
  const Shape shape = {count_, decoder_.kv_heads, context_, ops::StoredSize(type_, size)};
  ASSIGN_OR_RETURN(CacheBuffers made, MakeCache(device_, type_, shape));
  bytes_each_ += StorageBytes(type_, shape.elements()) / count_;
  pasts_.emplace("past_" + name, made.past);
  presents_.emplace("present_" + name, std::move(made.present));
  caches_.push_back(std::move(made.past));
  return OkStatus();
}

Status CachePool::AddState(const gguf::KeptState& state, int64_t layer) {
  const std::string name = fmt::format("{}.{}", state.name, layer);
  ASSIGN_OR_RETURN(CacheBuffers made, MakeCache(device_, DType::kF32, state.OfCaches(count_)));
  const int64_t bytes = StorageBytes(DType::kF32, state.shape.elements());
  state_bytes_ += bytes;
  bytes_each_ += gguf::kSlotsOfCache * bytes;
  pasts_.emplace("past_" + name, made.past);
  presents_.emplace("present_" + name, std::move(made.present));
  states_.push_back(std::move(made.past));
  return OkStatus();
}

Result<std::shared_ptr<CachePool>> CachePool::Create(const gguf::Decoder& decoder, int64_t context,
                                                     int64_t caches, DType type,
                                                     std::shared_ptr<const Device> device) {
  std::shared_ptr<CachePool> pool(new CachePool(decoder, context, caches, type, std::move(device)));
  for (int64_t layer = 0; layer < decoder.layers; ++layer) {
    for (const gguf::KeptState& state : decoder.StatesOf(layer))
      RETURN_IF_ERROR(pool->AddState(state, layer));
    if (!decoder.forms[layer].attends) continue;
    RETURN_IF_ERROR(pool->Add(fmt::format("key.{}", layer), decoder.head_size));
    RETURN_IF_ERROR(pool->Add(fmt::format("value.{}", layer), decoder.value_size));
  }
  return pool;
}

int64_t CachePool::Take() {
  const std::lock_guard lock(mutex_);
  const auto free = std::find(taken_.begin(), taken_.end(), false);
  if (free == taken_.end()) return -1;
  *free = true;
  return free - taken_.begin();
}

void CachePool::Give(int64_t cache) {
  const std::lock_guard lock(mutex_);
  taken_[cache] = false;
}

std::vector<Tensor> CachePool::Of(int64_t cache) const {
  std::vector<Tensor> views;
  for (const SharedBuffer& buffer : caches_) {
    const Tensor& all = buffer->host();
    const Shape& shape = all.shape();
    const int64_t each = StorageBytes(all.dtype(), shape.elements()) / count_;
    std::byte* at = device_ == nullptr ? all.data() + cache * each : nullptr;
    views.push_back(
        Tensor::Borrow(all.dtype(), Shape{1, shape[1], shape[2], shape[3]}, at, all.storage()));
  }
  return views;
}

Result<std::vector<Tensor>> CachePool::Read(int64_t cache) const {
  if (device_ == nullptr) return Of(cache);
  std::vector<Tensor> copies;
  for (const SharedBuffer& buffer : caches_) {
    ASSIGN_OR_RETURN(copies.emplace_back(), buffer->ReadToHost());
  }
  return copies;
}

Status CachePool::Write(const std::vector<Tensor>& caches) {
  for (size_t i = 0; device_ != nullptr && i < caches.size(); ++i)
    RETURN_IF_ERROR(caches_[i]->WriteFromHost(caches[i]));
  return OkStatus();
}

Status CachePool::SaveStates(int64_t slot, std::span<std::byte> to) const {
  for (const SharedBuffer& buffer : states_) {
    Tensor all = buffer->host();
    if (device_ != nullptr) {
      ASSIGN_OR_RETURN(all, buffer->ReadToHost());
    }
    const auto each = std::ssize(all.bytes()) / (count_ * gguf::kSlotsOfCache);
    std::ranges::copy(all.bytes().subspan(slot * each, each), to.begin());
    to = to.subspan(each);
  }
  return OkStatus();
}

Status CachePool::RestoreStates(int64_t slot, std::span<const std::byte> from) {
  for (const SharedBuffer& buffer : states_) {
    Tensor all = buffer->host();
    if (device_ != nullptr) {
      ASSIGN_OR_RETURN(all, buffer->ReadToHost());
    }
    const auto each = std::ssize(all.bytes()) / (count_ * gguf::kSlotsOfCache);
    std::ranges::copy(from.first(each), all.bytes().subspan(slot * each, each).begin());
    from = from.subspan(each);
    if (device_ != nullptr) RETURN_IF_ERROR(buffer->WriteFromHost(all));
  }
  return OkStatus();
}

Status CachePool::Run::Send() {
  for (BoundTensor* input : {&hidden, &position, &last, &seqlens, &steps})
    RETURN_IF_ERROR(input->Send());
  return OkStatus();
}

Status CachePool::Run::FetchLogits(std::span<Tensor* const> to) {
  if (to.size() == 1) return logits.FetchInto(*to[0]);
  RETURN_IF_ERROR(logits.Fetch());
  const float* from = logits.host.as<float>().data();
  for (Tensor* each : to) {
    std::copy_n(from, each->elements(), each->as<float>().data());
    from += each->elements();
  }
  return OkStatus();
}

Result<CachePool::Run*> CachePool::RunOf(int64_t batch, int64_t length) {
  for (const auto& run : runs_) {
    if (run->batch == batch && run->length == length) return run.get();
  }
  auto run = std::make_unique<Run>();
  run->batch = batch;
  run->length = length;
  const bool one = count_ == 1;  // has no input that says which
  const auto make = [&](DType dtype, const Shape& shape) {
    return BoundTensor::Create(device_, dtype, shape);
  };
  ASSIGN_OR_RETURN(run->hidden, make(DType::kF32, Shape{batch, length, decoder_.width}));
  ASSIGN_OR_RETURN(run->position, make(DType::kI64, Shape{batch}));
  ASSIGN_OR_RETURN(run->last, make(DType::kI64, Shape{1}));
  ASSIGN_OR_RETURN(run->seqlens, make(DType::kI32, Shape{batch}));
  ASSIGN_OR_RETURN(run->cache_of, make(DType::kI32, Shape{batch}));
  ASSIGN_OR_RETURN(run->steps, make(DType::kI32, Shape{batch, 3}));
  ASSIGN_OR_RETURN(run->logits, make(DType::kF32, Shape{batch, 1, decoder_.vocabulary}));
  run->inputs = pasts_;
  run->inputs.emplace("hidden", run->hidden.buffer);
  if (!states_.empty()) run->inputs.emplace("steps", run->steps.buffer);
  run->inputs.emplace("position", run->position.buffer);
  run->inputs.emplace("last", run->last.buffer);
  run->inputs.emplace("seqlens", run->seqlens.buffer);
  if (!one) run->inputs.emplace("cache_of", run->cache_of.buffer);
  run->outputs = presents_;
  run->outputs.emplace("logits", run->logits.buffer);
  runs_.push_back(std::move(run));
  return runs_.back().get();
}

}  // namespace fettle::language
