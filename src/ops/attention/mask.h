// Masks of com.microsoft attention operators, as kernels read them.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/attention/grouped_heads.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// AttentionMask gives what is added to the scores of [batch, 1, queries | 1, keys]: 0 where the
/// integers of `mask` let a key be seen, otherwise the attribute 'value'.
struct AttentionMaskShape {
  enum class Kind {
    kEnds,    // [batch]: keys seen
    kRanges,  // [2 * batch]: ends, then first keys seen
    kKeys,    // [batch, keys]: seen where positive
    kPairs,   // [batch, queries, keys]
    kSquare,  // [batch, 1, n, n] of all positions, of which the last `queries` rows are used
  };
  Kind kind = Kind::kEnds;
  int64_t batch = 0, queries = 0, past = 0, keys = 0;  // keys: past + current
};
/// The shapes of the mask, the queries [batch, queries, size], the keys ([batch, keys, size] or
/// [batch, heads, keys, size]) and the past keys [batch, heads, past, size], null where there are
/// none. Fails with kInvalidModel where they do not fit, kUnsupported for packed sequences.
Result<AttentionMaskShape> ReadAttentionMask(const Shape& mask, const Shape& queries,
                                             const Shape& keys, const Shape* past);

/// GroupQueryAttention, with a cache [batch, kv_heads, cache, size] of earlier keys. Batch element
/// b has `lengths[b]` + 1 valid keys, the new ones last; where `total` keys are all new, they start
/// at position 0. Input 9 (Fettle's own) names the cache of each batch element, each another one;
/// the past may then have more of them than the batch, and those not named stay as they are.
struct GroupQueryShape : GroupedHeads {
  int64_t cache = 0;   // of the past
  int64_t caches = 0;  // [caches, kv_heads, cache, size]
  double softcap = 0;
  int64_t window = -1;  // keys seen, the own one included; -1: all
  /// Rows of the past are bytes (byte_rows.h), [.., size + kStepBytes] of i8.
  bool in_bytes = false;
};
Result<GroupQueryShape> ReadGroupQuery(const ir::Node& node, const Shape& q, const Shape& k,
                                       const Shape& v, const Shape* past);
/// kInvalidArgument where input 9 names a cache that does not exist, or names one twice.
Status CheckCachesNamed(std::span<const int32_t> named, int64_t caches);

}  // namespace fettle::ops
