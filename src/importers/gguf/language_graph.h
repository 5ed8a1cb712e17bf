// The graph of a language model in a GGUF file.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "importers/gguf/decoder.h"
#include "importers/gguf/gguf_file.h"
#include "ir/graph.h"

namespace fettle::gguf {

/// `floats` and `every_row` are for measuring weights.
struct DecoderForm {
  bool floats = false;     // weights as f32, whatever their bits: rows are not rounded
  bool every_row = false;  // logits [1, sequence, vocabulary]
  int64_t caches = 1;      // more: steps may be of several sequences
  /// kF16, or kI8: rows of bytes, each behind which its step lies (ops/attention/byte_rows.h).
  DType cache = DType::kF16;
};

/// Inputs
///   hidden [1, sequence, width] f32   rows of the embedding (EmbeddingRow)
///   position [1] i64 (of the first row), last [1] i64 (the row of `hidden` to give logits for),
///   seqlens [1] i32 (keys in the cache after this step, less 1)
///   past_key.N, past_value.N [1, kv_heads, capacity, size] of form.cache, for each layer that
///   attends
///   past_S.N [slots, ...] f32 for the states S of each recurrent layer (Decoder::StatesOf), and
///   for all of these steps [1, 3] i32: which slot is read (-1: none, the sequence begins), which
///   is written, and how many rows of `hidden` count
/// Outputs: logits [1, 1, vocabulary] f32, and a present_... for each past_..., which may be the
/// memory of the past. With form.caches > 1 the inputs are hidden [batch, sequence, width],
/// position [batch], seqlens [batch], cache_of [batch] i32 (which cache each has), and
/// steps [batch, 3], caches and logits have so many, and `batch`, in the place of 1. Weights stay
/// in `file`, in their bits; products round their rows to bytes (BlockMatMul) where weights are in
/// blocks. Fails with kInvalidModel where tensors are missing or have other sizes.
Result<ir::Graph> BuildDecoder(const std::shared_ptr<const File>& file, const Decoder& decoder,
                               int64_t capacity, const DecoderForm& form = {});

/// The input `hidden` of one token at a position: width floats. `token` lies in the vocabulary;
/// positions behind the last one that the model has a row for take that.
void EmbeddingRow(const File& file, const Decoder& decoder, int64_t token, int64_t position,
                  float* out);
/// Gives back the memory of the rows that were read, which lie apart: each has brought pages beside
/// its own.
void DropEmbedding(const File& file);

}  // namespace fettle::gguf
