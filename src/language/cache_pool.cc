#include "language/cache_pool.h"

#include <algorithm>

#include "runtime/tensor_buffer.h"

namespace fettle::language {
namespace {

std::shared_ptr<runtime::TensorBuffer> Buffer(const Tensor& tensor) {
  return std::make_shared<runtime::TensorBuffer>(tensor, true);
}

}  // namespace

CachePool::CachePool(const gguf::Decoder& decoder, int64_t context, int64_t caches)
    : decoder_(decoder), context_(context), count_(caches), taken_(caches) {}

Status CachePool::Add(const std::string& name, int64_t size) {
  const Shape shape = {count_, decoder_.kv_heads, context_, size};
  ASSIGN_OR_RETURN(Tensor cache, Tensor::Create(DType::kF16, shape));
  bytes_each_ += std::ssize(cache.bytes()) / count_;
  // Two buffers over one memory: the run reads the past and writes the present there.
  pasts_.emplace("past_" + name, Buffer(cache));
  presents_.emplace("present_" + name, Buffer(cache));
  caches_.push_back(std::move(cache));
  return OkStatus();
}

Result<std::shared_ptr<CachePool>> CachePool::Create(const gguf::Decoder& decoder, int64_t context,
                                                     int64_t caches) {
  std::shared_ptr<CachePool> pool(new CachePool(decoder, context, caches));
  for (int64_t layer = 0; layer < decoder.layers; ++layer) {
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
  for (const Tensor& all : caches_) {
    const Shape& shape = all.shape();
    std::byte* at = all.data() + cache * (std::ssize(all.bytes()) / count_);
    views.push_back(
        Tensor::Borrow(all.dtype(), Shape{1, shape[1], shape[2], shape[3]}, at, all.storage()));
  }
  return views;
}

Result<CachePool::Run*> CachePool::RunOf(int64_t batch, int64_t length) {
  for (const auto& run : runs_) {
    if (run->batch == batch && run->length == length) return run.get();
  }
  auto run = std::make_unique<Run>();
  run->batch = batch;
  run->length = length;
  const bool one = count_ == 1;  // has no input that says which
  ASSIGN_OR_RETURN(run->hidden, Tensor::Create(DType::kF32, Shape{batch, length, decoder_.width}));
  ASSIGN_OR_RETURN(run->position, Tensor::Create(DType::kI64, Shape{batch}));
  ASSIGN_OR_RETURN(run->last, Tensor::Create(DType::kI64, Shape{1}));
  ASSIGN_OR_RETURN(run->seqlens, Tensor::Create(DType::kI32, Shape{batch}));
  ASSIGN_OR_RETURN(run->cache_of, Tensor::Create(DType::kI32, Shape{batch}));
  ASSIGN_OR_RETURN(run->logits, Tensor::Create(DType::kF32, Shape{batch, 1, decoder_.vocabulary}));
  run->inputs = pasts_;
  run->inputs.emplace("hidden", Buffer(run->hidden));
  run->inputs.emplace("position", Buffer(run->position));
  run->inputs.emplace("last", Buffer(run->last));
  run->inputs.emplace("seqlens", Buffer(run->seqlens));
  if (!one) run->inputs.emplace("cache_of", Buffer(run->cache_of));
  run->outputs = presents_;
  run->outputs.emplace("logits", Buffer(run->logits));
  runs_.push_back(std::move(run));
  return runs_.back().get();
}

}  // namespace fettle::language
