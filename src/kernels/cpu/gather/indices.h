// Index operands of type i32 or i64.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/status.h"
#include "ops/gather/op.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

/// A dense index operand.
struct Indices {
  const std::byte* data = nullptr;
  DType dtype = DType::kI64;

  int64_t operator[](int64_t i) const {
    return dtype == DType::kI32 ? reinterpret_cast<const int32_t*>(data)[i]
                                : reinterpret_cast<const int64_t*>(data)[i];
  }
  /// Index `i`, counted from the front of an axis of `extent`; it must be in range.
  int64_t Normal(int64_t i, int64_t extent) const {
    const int64_t index = (*this)[i];
    return index < 0 ? index + extent : index;
  }
};

/// Calls f(pointer) with the indices as their own type.
template <typename F>
auto WithTypedIndices(const Indices& indices, F&& f) {
  if (indices.dtype == DType::kI32) return f(reinterpret_cast<const int32_t*>(indices.data));
  return f(reinterpret_cast<const int64_t*>(indices.data));
}

/// kInvalidArgument for the first of `count` indices that is out of range.
inline Status CheckIndices(const Indices& indices, int64_t count, int64_t extent) {
  const bool ok = WithTypedIndices(indices, [&](const auto* typed) {
    bool all = true;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = typed[i] + (typed[i] < 0 ? extent : 0);
      all &= static_cast<uint64_t>(index) < static_cast<uint64_t>(extent);
    }
    return all;
  });
  for (int64_t i = 0; !ok && i < count; ++i) {
    if (ops::NormaliseIndex(indices[i], extent) < 0)
      return ops::IndexOutOfRange(indices[i], extent);
  }
  return OkStatus();
}

/// The index operand of GatherND or ScatterND: tuples that each name a contiguous slice of the
/// data.
struct IndexTuples {
  std::vector<int64_t> extents;  // of the axes that a tuple names
  int64_t tuples = 0;
  int64_t per_batch = 1;  // tuples that share a batch entry
  int64_t slice = 1;      // elements of a slice

  /// The slice that tuple `t` names, counted in slices from the start of the data, or -1 where it
  /// is out of range. `indices` are i32 or i64.
  template <typename I>
  int64_t SliceOf(const I* indices, int64_t t) const {
    int64_t at = per_batch >= tuples ? 0 : t / per_batch;
    const auto depth = static_cast<int64_t>(extents.size());
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t index = ops::NormaliseIndex(indices[t * depth + k], extents[k]);
      if (index < 0) return -1;
      at = at * extents[k] + index;
    }
    return at;
  }
  /// kInvalidArgument for the first index that is out of range; slices of nothing may lie anywhere.
  Status Check(const Indices& indices) const {
    if (slice == 0) return OkStatus();
    const size_t depth = extents.size();
    for (int64_t i = 0; i < tuples * static_cast<int64_t>(depth); ++i) {
      const int64_t extent = extents[static_cast<size_t>(i) % depth];
      if (ops::NormaliseIndex(indices[i], extent) < 0)
        return ops::IndexOutOfRange(indices[i], extent);
    }
    return OkStatus();
  }
};

/// Copies a slice; a call for an element alone would take longer than the copy.
inline void CopySlice(std::byte* to, const std::byte* from, int64_t bytes) {
  switch (bytes) {
    case 1: *to = *from; return;
    case 2: std::memcpy(to, from, 2); return;
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    default: std::memcpy(to, from, bytes);
  }
}

/// Neighbouring tuples that name neighbouring slices of the data.
struct SliceRun {
  int64_t tuple;  // the first one
  int64_t slice;  // the data's slice that it names
  int64_t count;
};

/// The runs that constant indices fall into; none where an index is out of range or `constant` is
/// null (then the indices are read at launch).
inline std::vector<SliceRun> FindSliceRuns(const IndexTuples& tuples, const Constant* constant) {
  std::vector<SliceRun> runs;
  if (constant == nullptr) return runs;
  const Result<Tensor> values = constant->ToTensor();
  if (!values.ok()) return runs;
  const Indices indices{values->data(), constant->dtype()};
  if (!tuples.Check(indices).ok()) return runs;
  for (int64_t t = 0; t < tuples.tuples; ++t) {
    const int64_t slice =
        WithTypedIndices(indices, [&](const auto* typed) { return tuples.SliceOf(typed, t); });
    if (!runs.empty() && runs.back().slice + runs.back().count == slice) {
      ++runs.back().count;
    } else {
      runs.push_back({t, slice, 1});
    }
  }
  return runs;
}

inline IndexTuples MakeIndexTuples(const Shape& data, const Shape& indices, int batch) {
  const int last = indices.rank() - 1;
  const int named = batch + static_cast<int>(indices[last]);
  IndexTuples tuples;
  tuples.extents.assign(data.begin() + batch, data.begin() + named);
  tuples.tuples = indices.Count(0, last);
  tuples.per_batch = std::max<int64_t>(1, indices.Count(batch, last));
  tuples.slice = data.Count(named, data.rank());
  return tuples;
}

}  // namespace fettle::kernels
