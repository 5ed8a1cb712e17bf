// The keys and values of a sequence as bytes, from which it can continue later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "importers/gguf/gguf_file.h"
#include "tensor/tensor.h"

namespace fettle::language {

/// Hash of the tensors' names, types, shapes and first bytes: practically unique to a model.
uint64_t FingerprintOf(const gguf::File& file);

/// Caches are [1, heads, context, size]; their first `tokens` rows are in use.
void CopyRows(const Tensor& from, Tensor& to, int64_t tokens);
int64_t SavedBytes(const std::vector<Tensor>& caches, int64_t tokens);
/// Writes SavedBytes bytes: a header, and the rows of each cache. States, if there are any, stand
/// behind them in `to` already.
void SaveCaches(const std::vector<Tensor>& caches, int64_t tokens, uint64_t fingerprint,
                std::span<std::byte> to);
/// Fills the caches and returns their tokens. Fails, before anything is changed, with kCorrupt
/// where `saved` is not what SaveCaches wrote, kInvalidArgument where it is of another model, or of
/// more tokens than the context. The last `state_bytes` are left to the caller.
Result<int64_t> RestoreCaches(std::span<const std::byte> saved, uint64_t fingerprint,
                              int64_t context, std::vector<Tensor>& caches,
                              int64_t state_bytes = 0);

}  // namespace fettle::language
