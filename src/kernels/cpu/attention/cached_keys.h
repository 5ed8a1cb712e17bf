// Keys and values of GroupQueryAttention: those of the cache and the new ones, at launch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/attention/score_rows.h"
#include "kernels/cpu/operands.h"
#include "kernels/kernel.h"
#include "ops/attention/byte_rows.h"
#include "ops/attention/mask.h"

namespace fettle::kernels {

/// What a group says.
struct CachedFacts {
  ops::GroupQueryShape a;
  int64_t total = 0, keys = 0;  // keys: of the new cache
  DType length_type = DType::kI32;
  bool has_sinks = false;  // heads have scores of their own
  Dims bias_strides;       // of [batch, heads, queries, keys]; empty: none

  /// Rows of a block of queries, of one query of the most heads to a key, and most that are few.
  static constexpr int64_t kBlockRows = 64, kMostHeads = 128, kFewRows = 16;

  int64_t group() const { return a.q_heads / a.kv_heads; }
  bool has_few_rows() const { return a.length == 1 || a.length * group() <= kFewRows; }
  int64_t block_queries() const {
    return std::min(a.length, std::max<int64_t>(1, kBlockRows / group()));
  }
  /// The first key that the query at `position` sees.
  int64_t FirstSeen(int64_t position) const {
    return a.window > 0 ? std::max<int64_t>(position - a.window + 1, 0) : 0;
  }
};

/// One node GroupQueryAttention; kUnsupported where this cannot compute it.
Result<CachedFacts> ReadCached(const ir::Graph& group, const Device& device);
/// Floats, but for caches of halves, which may stay halves; these and floats of the caller's
/// memory.
Result<std::vector<StateAssignment>> CachedStates(const ir::Graph& group, const CachedFacts& facts,
                                                  const Device& device);

/// Keys of one batch element: `valid` ones, the new ones from `first_new` on.
struct KeyLengths {
  int64_t valid = 0, first_new = 0;
};

/// "Operand" 1 is keys, 2 is values. A cache is [batch, kv_heads, keys, size] of floats or halves,
/// or of bytes, whose rows end with their step;
/// where the new one is the memory of the past, it is written in place: rows that stay are not
/// touched, those behind the new ones neither.
class CachedKeys {
 public:
  CachedKeys(const Problem& problem, const CachedFacts& facts);

  const NodeOperands& operands() const { return operands_; }
  KeyLengths LengthsOf(const LaunchArgs& args, int64_t batch) const;
  /// Of all batch elements, the new ones included; fails where lengths do not fit.
  Result<int64_t> MostKeys(const LaunchArgs& args) const;
  int64_t SizeOf(size_t operand) const { return operand == 1 ? f_.a.size : f_.a.v_size; }
  /// Whether the group gives the new cache.
  bool IsWritten(size_t operand) const { return written_[operand - 1]; }
  DType type(size_t operand) const { return cache_[operand - 1]; }
  /// Whether the past is the new cache.
  bool IsInPlace(const LaunchArgs& args, size_t operand) const;
  /// Checks which caches a launch names, and copies those that it does not where the new ones are
  /// other memory.
  Status Begin(const LaunchArgs& args) const;
  /// Writes rows [begin, end) of a head (batch * kv_heads of them) of the new cache, zeros where
  /// there is no key. Nothing where the group gives none.
  void Store(const LaunchArgs& args, size_t operand, int64_t head, int64_t begin,
             int64_t end) const;
  /// Rows [begin, end) of a head, all of them keys and stored before: where they lie, or a copy in
  /// `scratch`, which has room for them. [end - begin, SizeOf].
  const float* Rows(const LaunchArgs& args, size_t operand, int64_t head, int64_t begin,
                    int64_t end, float* scratch) const;
  /// The same, halves and bytes as they lie where those who read few rows take them. What is read
  /// next comes along, as caches of several sequences come from memory, and a tile is too short to
  /// be foreseen: values after keys, then the keys behind them or, from `stop` on, those of the
  /// next head.
  StoredRows Stored(const LaunchArgs& args, size_t operand, int64_t head, int64_t begin,
                    int64_t end, int64_t stop, float* scratch) const;

 private:
  /// Of the cache.
  int64_t RowBytes(size_t operand) const {
    return ops::StoredSize(type(operand), SizeOf(operand)) * ByteSize(type(operand));
  }
  /// Rows of the cache as floats: themselves, or in `to`.
  const float* Widened(size_t operand, const std::byte* from, int64_t rows, float* to) const;
  std::span<const int32_t> Named(const LaunchArgs& args) const;
  /// The head of the caches that head `head` of the batch has.
  int64_t CacheHead(const LaunchArgs& args, int64_t head) const;
  /// The first new row of a head; rows lie kv_heads * size floats apart.
  const float* NewRows(const LaunchArgs& args, size_t operand, int64_t head) const;

  NodeOperands operands_;
  CachedFacts f_;
  bool written_[2] = {};
  DType cache_[2] = {DType::kF32, DType::kF32};
};

}  // namespace fettle::kernels
