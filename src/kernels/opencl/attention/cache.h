// GroupQueryAttention over a cache whose length is read at launch (attention/cache.clh): what its
// kernels have together.
#pragma once

#include <vector>

#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"
#include "ops/attention/mask.h"

namespace fettle::kernels {

struct CacheFacts {
  ops::GroupQueryShape a;
  int64_t total = 0, keys = 0;  // keys: of the new cache
  DType cache = DType::kF16;    // as it is stored

  int64_t heads() const { return a.batch * a.kv_heads; }
  /// Queries of a key head.
  int64_t count() const { return a.length * (a.q_heads / a.kv_heads); }
  int64_t vector() const { return a.size % 8 == 0 && a.v_size % 8 == 0 ? 8 : 1; }
};

/// A GroupQueryAttention with a cache; kUnsupported with the reason.
Result<CacheFacts> ReadCacheFacts(const ir::Graph& group);
/// The same of the last node of a group.
Result<CacheFacts> ReadLastOfCache(const ir::Graph& group);

/// Floats, but for a cache of halves or bytes.
Result<std::vector<StateAssignment>> CacheStates(const ir::Graph& group, const CacheFacts& facts,
                                                 const Device& device);

/// What cache.clh asks for.
BuildOptions CacheOptions(const CacheFacts& facts, DType lengths);

/// Puts new keys and values into the cache: where that is the memory of the past, new rows alone.
class CacheKernel : public PreparedKernel {
 public:
  CacheKernel(const Problem& problem, const CacheFacts& facts);

  std::vector<PackRequest> packs() const override { return packs_; }

 protected:
  const CacheFacts& facts() const { return facts_; }
  std::vector<PackRequest>& own_packs() { return packs_; }
  DType length_type() const { return length_type_; }
  /// Which input of the group is the node's `i`.
  size_t input(size_t i) const { return inputs_[i]; }

  Status BuildAppends(const OpenClDevice& device);
  /// Of keys (1) or values (2).
  bool IsInPlace(const LaunchArgs& args, size_t operand) const;
  /// Operands of the group in the place of the node's queries and keys, which others make.
  void SetInput(size_t i, size_t input) { inputs_[i] = input; }
  Status StoreNew(const LaunchArgs& args) const;
  /// The same of keys that lie elsewhere.
  Status StoreNew(const LaunchArgs& args, const Location& keys) const;
  void AddQueriesAndCache(const LaunchArgs& args, ArgList& list) const;
  void AddLengths(const LaunchArgs& args, ArgList& list) const;

 private:
  /// Keys (1) or values (2), from `from`.
  Status Store(const LaunchArgs& args, size_t operand, int64_t size, const Location& from) const;

  CacheFacts facts_;
  size_t inputs_[5] = {};
  int lengths_ = -1;  // where they are bound
  DType length_type_ = DType::kI32;
  std::vector<PackRequest> packs_;
  std::shared_ptr<OpenClKernel> append_, rewrite_;
};

}  // namespace fettle::kernels
