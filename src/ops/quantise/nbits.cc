#include "ops/quantise/nbits.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fettle::ops {

Result<NBitsGroups> ReadGroups(const ImportContext& context, size_t input, const NBits& nbits) {
  NBitsGroups groups;
  if (!context.has_input(input)) return groups;
  const Constant* indices = context.constant(input);
  if (indices == nullptr || !IsInteger(indices->dtype()))
    return Unsupported("input 'g_idx' must be a constant of integers");
  if (indices->elements() < nbits.k)
    return InvalidModel("input 'g_idx': {} groups of {} rows", indices->elements(), nbits.k);
  std::vector<int64_t> of(nbits.k), sizes(nbits.blocks());
  bool plain = true;
  for (int64_t i = 0; i < nbits.k; ++i) {
    of[i] = indices->GetInt(i);
    if (of[i] < 0 || of[i] >= nbits.blocks())
      return InvalidModel("input 'g_idx': group {} of {}", of[i], nbits.blocks());
    ++sizes[of[i]];
    plain = plain && of[i] == i / nbits.block;
  }
  if (plain) return groups;
  bool even = true;
  for (int64_t b = 0; b < nbits.blocks(); ++b)
    even = even && sizes[b] == std::min(nbits.block, nbits.k - b * nbits.block);
  if (!even) {
    groups.of = std::move(of);
    return groups;
  }
  groups.order.resize(nbits.k);
  std::vector<int64_t> next(nbits.blocks());
  for (int64_t b = 0; b < nbits.blocks(); ++b) next[b] = b * nbits.block;
  for (int64_t row = 0; row < nbits.k; ++row) groups.order[next[of[row]]++] = row;
  return groups;
}

Result<Constant> Reordered(const Constant& packed, const NBits& nbits, int64_t row_bytes,
                           const std::vector<int64_t>& order) {
  if (packed.elements() != nbits.n * row_bytes || packed.dtype() != DType::kU8)
    return InvalidModel("packed operand has {} elements of {}, expected {} bytes",
                        packed.elements(), DTypeName(packed.dtype()), nbits.n * row_bytes);
  ASSIGN_OR_RETURN(const Tensor from, packed.ToTensor());
  ASSIGN_OR_RETURN(Tensor to, Tensor::Create(DType::kU8, Shape{nbits.n, row_bytes}));
  const int64_t per = nbits.per_byte(), bits = nbits.bits;
  for (int64_t n = 0; n < nbits.n; ++n) {
    const uint8_t* row = from.as<uint8_t>().data() + n * row_bytes;
    uint8_t* out = to.as<uint8_t>().data() + n * row_bytes;
    std::memset(out, 0, row_bytes);
    for (int64_t i = 0; i < nbits.k; ++i) {
      const int64_t at = order[i];
      const unsigned code = row[at / per] >> (at % per * bits) & ((1U << bits) - 1);
      out[i / per] = static_cast<uint8_t>(out[i / per] | code << (i % per * bits));
    }
  }
  return Constant::FromTensor(to);
}

Result<Constant> RowsOf(const Constant& by_blocks, const std::vector<int64_t>& of) {
  const int64_t n = by_blocks.shape()[1];
  ASSIGN_OR_RETURN(const Tensor from, by_blocks.ToTensor());
  ASSIGN_OR_RETURN(Tensor to,
                   Tensor::Create(by_blocks.dtype(), Shape{static_cast<int64_t>(of.size()), n}));
  const auto bytes = static_cast<int64_t>(StorageBytes(by_blocks.dtype(), n));
  for (size_t i = 0; i < of.size(); ++i) {
    std::memcpy(to.data() + static_cast<int64_t>(i) * bytes, from.data() + of[i] * bytes, bytes);
  }
  return Constant::FromTensor(to);
}

Result<FloatZeros> ReadFloatZeros(const Constant& zeros, const Constant& scales,
                                  const NBits& nbits) {
  const int64_t blocks = nbits.blocks();
  if (zeros.elements() != nbits.n * blocks)
    return InvalidModel("{} zero points, expected {}", zeros.elements(), nbits.n * blocks);
  const Shape shape = {blocks, nbits.n};
  ASSIGN_OR_RETURN(Tensor whole, Tensor::Create(nbits.dtype(), shape));
  ASSIGN_OR_RETURN(Tensor added, Tensor::Create(scales.dtype(), shape));
  const HostView numbers = whole.view(), products = added.view();
  const auto middle = static_cast<double>(nbits.middle());
  bool fits = true;
  for (int64_t n = 0; n < nbits.n; ++n) {
    for (int64_t b = 0; b < blocks; ++b) {
      const double zero = zeros.GetDouble(n * blocks + b), scale = scales.GetDouble(n * blocks + b);
      const int64_t at = b * nbits.n + n;
      fits = fits && zero == std::floor(zero) && zero >= 0 && zero < 2 * middle;
      if (fits) numbers.SetInt(at, static_cast<int64_t>(zero));
      products.SetDouble(at, scale * (middle - zero));
    }
  }
  FloatZeros read;
  (fits ? read.whole : read.added) = Constant::FromTensor(fits ? whole : added);
  return read;
}

ir::ValueId BlockSumsTimes(ImportContext& context, ir::ValueId a, const NBits& nbits,
                           ir::ValueId added, ir::ValueId like) {
  const int64_t whole = nbits.blocks() * nbits.block;
  ir::ValueId rows = context.Emit1("Reshape", {a, context.ConstInts({-1, nbits.k})});
  if (whole != nbits.k)
    rows = context.Emit1("Pad", {rows, context.ConstInts({0, 0, 0, whole - nbits.k})});
  const ir::ValueId split =
      context.Emit1("Reshape", {rows, context.ConstInts({-1, nbits.blocks(), nbits.block})});
  const ir::ValueId sums =
      context.Emit1("ReduceSum", {split, context.ConstInts({2})}, {{"keepdims", int64_t{0}}});
  const ir::ValueId y = context.Emit1("MatMul", {sums, added});
  return context.Emit1("Reshape", {y, context.Emit1("Shape", {like})});
}

}  // namespace fettle::ops
