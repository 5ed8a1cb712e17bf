// The meaning of the inputs and outputs of a language model as ONNX.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::language {

/// Keys or values of a layer: an input, and the output that holds it with the new tokens behind.
struct OnnxCacheForm {
  std::string past, present;
  DType dtype = DType::kF32;
  int64_t heads = 0, size = 0;  // [1, heads, tokens, size]
};

/// What files beside the model say of it; 0: nothing.
struct OnnxFacts {
  int64_t trained_context = 0;
  int64_t key_heads = 0, head_size = 0;
};

/// An input of integers; empty name: there is none.
struct OnnxInts {
  std::string name;
  DType dtype = DType::kI64;
};

struct OnnxForm {
  OnnxInts ids, mask, positions;  // [1, new tokens], [1, all tokens], [1, new tokens]
  std::string cache_branch;       // bool [1]: whether there are tokens in the cache
  OnnxInts kept_logits;           // of how many last rows; 0: all
  std::vector<OnnxCacheForm> caches;
  DType logits = DType::kF32;  // output 'logits' [1, rows, vocabulary]
  int64_t vocabulary = 0;
  bool one_row = false;  // logits are of a run's last token alone
  OnnxInts row;          // of which of a run's tokens logits are (last_row.h)
  OnnxInts last;         // the position of a run's last row, where no mask says it
  OnnxInts all;          // how many tokens there are once all that are being read have been
  OnnxInts cache_of;     // which cache each sequence has, where several lie together
  /// Caches may have room for more tokens than were read, and be written in place: attention counts
  /// tokens by the ones of the mask, whose zeros lie behind them.
  bool in_place = false;
};

/// By the names that exporters give them: input_ids, attention_mask, position_ids,
/// use_cache_branch, num_logits_to_keep, past*, present*, logits. `graph` as it was imported.
/// kUnsupported naming an input that is none of them, or whose type or shape is another.
/// Extents of caches that the graph leaves open are those of `facts`.
Result<OnnxForm> ReadOnnxForm(const ir::Graph& graph, const OnnxFacts& facts);

}  // namespace fettle::language
