// Keys and values of several sequences in one memory, and the tensors of runs over them.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "importers/gguf/language_graph.h"
#include "language/bound_tensor.h"
#include "runtime/session.h"
#include "tensor/tensor.h"

namespace fettle::language {

/// DecoderOptions::cache by its name, "f16" or "bytes". kInvalidArgument.
Result<DType> ReadCacheType(std::string_view name);

/// Caches that sequences take and return. The tensors of a run belong to the caller that runs: one
/// at a time. Everything else is thread-safe.
class CachePool {
 public:
  /// In memory of `device`, where there is one: one cache. `type` as gguf::DecoderForm has it.
  /// kOutOfMemory.
  static Result<std::shared_ptr<CachePool>> Create(const gguf::Decoder& decoder, int64_t context,
                                                   int64_t caches, DType type,
                                                   std::shared_ptr<const Device> device);

  /// A free cache; -1: there is none.
  int64_t Take();
  void Give(int64_t cache);
  /// Keys and values of each layer that attends, [1, kv_heads, context, stored size], of one cache;
  /// without bytes on a device.
  std::vector<Tensor> Of(int64_t cache) const;
  /// The same with bytes: copies of those on a device, to which Write brings them back.
  Result<std::vector<Tensor>> Read(int64_t cache) const;
  Status Write(const std::vector<Tensor>& caches);
  /// Copies the states of recurrent layers in a slot, of which cache c has gguf::kSlotsOfCache from
  /// c times as many on: state_bytes() bytes.
  Status SaveStates(int64_t slot, std::span<std::byte> to) const;
  Status RestoreStates(int64_t slot, std::span<const std::byte> from);
  int64_t state_bytes() const { return state_bytes_; }
  int64_t bytes_each() const { return bytes_each_; }

  /// The tensors that runs of `batch` sequences with `length` tokens each read and write.
  struct Run {
    int64_t batch = 0, length = 0;
    BoundTensor hidden, position, last, seqlens, cache_of, steps, logits;
    runtime::BufferMap inputs, outputs;

    /// Copies the inputs to the device.
    Status Send();
    /// Copies the outputs into tensors of `batch` sequences, [1, 1, vocabulary]; may replace these
    /// tensors.
    Status FetchLogits(std::span<Tensor* const> to);
  };
  /// Made once, valid as long as the pool.
  Result<Run*> RunOf(int64_t batch, int64_t length);

 private:
  CachePool(const gguf::Decoder& decoder, int64_t context, int64_t caches, DType type,
            std::shared_ptr<const Device> device);
  Status Add(const std::string& name, int64_t size);
  Status AddState(const gguf::KeptState& state, int64_t layer);

  gguf::Decoder decoder_;
  int64_t context_, count_, bytes_each_ = 0, state_bytes_ = 0;
  DType type_;
  std::shared_ptr<const Device> device_;  // null: the host
  std::vector<SharedBuffer> caches_, states_;
  runtime::BufferMap pasts_, presents_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::mutex mutex_;
  std::vector<bool> taken_;  // under mutex_
};

}  // namespace fettle::language
