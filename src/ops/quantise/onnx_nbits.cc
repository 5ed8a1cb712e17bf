// com.microsoft.MatMulNBits: A times weights of 2, 4 or 8 bits with a scale for each block of a
// row.
#include <algorithm>
#include <cstring>

#include "ops/import.h"
#include "ops/quantise/block_product.h"
#include "ops/quantise/nbits.h"
#include "ops/quantise/onnx.h"
#include "tensor/packed_rows.h"

namespace fettle::ops {
namespace {

Result<NBits> ReadNBits(const ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  const NBits nbits = {from.Int("N"), from.Int("K"), from.Int("bits", 4), from.Int("block_size")};
  constexpr int64_t kLimit = int64_t{1} << 30;
  if (nbits.n < 1 || nbits.n > kLimit || nbits.k < 1 || nbits.k > kLimit || nbits.block < 1 ||
      nbits.block > kLimit)
    return InvalidModel("attributes N {}, K {} and block_size {} are out of range", nbits.n,
                        nbits.k, nbits.block);
  if (nbits.bits != 2 && nbits.bits != 4 && nbits.bits != 8)
    return Unsupported("attribute 'bits': expected 2|4|8, got {}", nbits.bits);
  return nbits;
}

/// Packed by columns, or the middle of the range where there are none.
Result<Constant> ZeroPoints(const ImportContext& context, const NBits& nbits) {
  if (!context.has_input(3)) {
    const std::byte middle[] = {std::byte(1 << (nbits.bits - 1))};
    return Constant::Splat(nbits.dtype(), Shape{nbits.blocks(), nbits.n}, middle);
  }
  const Constant* packed = context.constant(3);
  if (packed == nullptr || packed->dtype() != DType::kU8)
    return Unsupported("zero points must be a constant of packed integers");
  const int64_t row_bytes = (nbits.blocks() + nbits.per_byte() - 1) / nbits.per_byte();
  return UnpackBits(*packed, nbits.dtype(), {nbits.n, nbits.blocks(), row_bytes, nbits.width()},
                    true);
}

/// Scales [blocks, n] of scales [n, blocks].
Result<Constant> Transposed(const Constant& scales, const NBits& nbits) {
  ASSIGN_OR_RETURN(const Tensor from, scales.ToTensor());
  ASSIGN_OR_RETURN(Tensor to, Tensor::Create(scales.dtype(), Shape{nbits.blocks(), nbits.n}));
  const auto size = static_cast<int64_t>(StorageBytes(scales.dtype(), 1));
  for (int64_t n = 0; n < nbits.n; ++n) {
    for (int64_t b = 0; b < nbits.blocks(); ++b)
      std::memcpy(to.data() + (b * nbits.n + n) * size,
                  from.data() + (n * nbits.blocks() + b) * size, size);
  }
  return Constant::FromTensor(to);
}

}  // namespace

Result<Constant> UnpackBits(const Constant& packed, DType dtype, const PackedRows& layout,
                            bool transposed) {
  if (packed.dtype() != DType::kU8 || packed.elements() != layout.rows * layout.row_bytes)
    return InvalidModel("packed operand has {} elements of {}, expected {} bytes",
                        packed.elements(), DTypeName(packed.dtype()),
                        layout.rows * layout.row_bytes);
  Constant bytes = packed;
  if (packed.is_splat() || packed.source() != nullptr) {
    ASSIGN_OR_RETURN(const Tensor tensor, packed.ToTensor());
    bytes = Constant::FromTensor(tensor);
  }
  return UnpackWhenRead(dtype, bytes, layout, transposed);
}

namespace {

/// The operand [k, n] as it is read, and what is added to its product.
struct NBitsOperand {
  ir::ValueId dequantised = ir::kAbsent;
  ir::ValueId added = ir::kAbsent;  // [blocks, n]: by sums over blocks; of float zero points
};

Result<NBitsOperand> EmitOperand(ImportContext& context, const NBits& nbits, Constant weights,
                                 const Constant& scales, const NBitsGroups& groups) {
  NBitsOperand operand;
  ASSIGN_OR_RETURN(Constant by_blocks, Transposed(scales, nbits));
  const Constant* given = context.constant(3);
  const bool floats = given != nullptr && IsFloat(given->dtype());
  Constant zeros;
  if (floats) {
    ASSIGN_OR_RETURN(FloatZeros read, ReadFloatZeros(*given, scales, nbits));
    if (read.added) {
      if (!groups.of.empty())
        return Unsupported("float zero points beside a 'g_idx' of groups of different sizes");
      operand.added = context.Const(std::move(*read.added));
    } else {
      zeros = std::move(*read.whole);
    }
  }
  if (!floats) {
    ASSIGN_OR_RETURN(zeros, ZeroPoints(context, nbits));
  } else if (operand.added != ir::kAbsent) {
    const std::byte middle[] = {static_cast<std::byte>(nbits.middle())};
    zeros = Constant::Splat(nbits.dtype(), by_blocks.shape(), middle);
  }
  int64_t block = nbits.block;
  if (!groups.of.empty()) {
    ASSIGN_OR_RETURN(by_blocks, RowsOf(by_blocks, groups.of));
    ASSIGN_OR_RETURN(zeros, RowsOf(zeros, groups.of));
    block = 1;
  }
  ir::Attributes attributes = {{"axis", int64_t{0}}, {"block_size", block}};
  if (nbits.bits == 2) attributes.Set("bits", nbits.bits);
  operand.dequantised =
      context.Emit1("DequantizeLinear",
                    {context.Const(std::move(weights)), context.Const(std::move(by_blocks)),
                     context.Const(std::move(zeros))},
                    std::move(attributes));
  return operand;
}

/// Whether the node allows rows to be rounded to bytes, and its blocks are those of BlockMatMul or
/// hold several of them.
bool RoundsRows(const ImportContext& context, const NBits& nbits, const Constant& scales,
                const NBitsGroups& groups) {
  constexpr int64_t kBytes = 4;
  const bool fits = nbits.block == 16 || nbits.block % kMaxProductBlock == 0;
  return context.attributes().Int("accuracy_level", 0) == kBytes && nbits.bits != 2 && fits &&
         nbits.k % nbits.block == 0 && scales.dtype() == DType::kF32 && groups.of.empty();
}

/// [n, blocks].
Result<Constant> ZeroPointsByColumns(const ImportContext& context, const NBits& nbits) {
  const Constant* given = context.constant(3);
  if (given != nullptr && IsFloat(given->dtype())) {
    if (given->elements() == nbits.n * nbits.blocks()) return *given;
    return InvalidModel("{} zero points, expected {}", given->elements(), nbits.n * nbits.blocks());
  }
  ASSIGN_OR_RETURN(const Constant by_blocks, ZeroPoints(context, nbits));
  ASSIGN_OR_RETURN(const Tensor to, Tensor::Create(DType::kF32, Shape{nbits.n, nbits.blocks()}));
  const HostView zeros = to.view();
  for (int64_t i = 0; i < by_blocks.elements(); ++i)
    zeros.SetDouble(i % nbits.n * nbits.blocks() + i / nbits.n, by_blocks.GetDouble(i));
  return Constant::FromTensor(to);
}

/// The product of `a`, whose rows are rounded to bytes, and `packed`.
Result<ir::ValueId> EmitBlocks(ImportContext& context, const NBits& nbits, ir::ValueId a,
                               const Constant& packed, int64_t row_bytes, const Constant& scales) {
  ASSIGN_OR_RETURN(Constant codes, UnpackBits(packed, nbits.dtype(),
                                              {nbits.n, nbits.k, row_bytes, nbits.width()}, false));
  ASSIGN_OR_RETURN(const Constant zeros, ZeroPointsByColumns(context, nbits));
  const int64_t part = std::min(nbits.block, kMaxProductBlock), parts = nbits.block / part;
  const Shape shape = {nbits.n, nbits.k / part};
  ASSIGN_OR_RETURN(const Tensor steps, Tensor::Create(DType::kF32, shape));
  ASSIGN_OR_RETURN(const Tensor minima, Tensor::Create(DType::kF32, shape));
  const HostView step_values = steps.view(), minimum_values = minima.view();
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const double scale = scales.GetDouble(i / parts);
    step_values.SetDouble(i, scale);
    minimum_values.SetDouble(i, -scale * zeros.GetDouble(i / parts));
  }
  const ir::ValueId weights = context.Const(std::move(codes));
  const ir::ValueId by = context.Const(Constant::FromTensor(steps));
  const ir::ValueId plus = context.Const(Constant::FromTensor(minima));
  return context.Emit1("BlockMatMul", {a, weights, by, plus}, {{"block_size", part}});
}

}  // namespace

/// Inputs A, B, scales, zero_points, g_idx, bias.
Status ImportMatMulNBits(ImportContext& context) {
  ASSIGN_OR_RETURN(const NBits nbits, ReadNBits(context));
  const Constant *packed = context.constant(1), *scales = context.constant(2);
  if (packed == nullptr || scales == nullptr)
    return Unsupported("weights and scales must be constants");
  if (scales->elements() != nbits.n * nbits.blocks())
    return InvalidModel("{} scales, expected {}", scales->elements(), nbits.n * nbits.blocks());
  // Each block is padded to whole bytes, and the last one of a row to the block size.
  const int64_t row_bytes = nbits.blocks() * (nbits.block * nbits.bits / 8);
  if (nbits.block * nbits.bits % 8 != 0)
    return InvalidModel("attribute 'block_size': {} elements do not fill bytes", nbits.block);
  ASSIGN_OR_RETURN(const NBitsGroups groups, ReadGroups(context, 4, nbits));
  ir::ValueId a = context.input(0);
  Constant ordered = *packed;
  if (!groups.order.empty()) {
    ASSIGN_OR_RETURN(ordered, Reordered(*packed, nbits, row_bytes, groups.order));
    a = context.Emit1("Gather", {a, context.ConstInts(groups.order)}, {{"axis", int64_t{-1}}});
  }
  ir::ValueId y = ir::kAbsent;
  if (RoundsRows(context, nbits, *scales, groups)) {
    ASSIGN_OR_RETURN(y, EmitBlocks(context, nbits, a, ordered, row_bytes, *scales));
  } else {
    ASSIGN_OR_RETURN(
        Constant weights,
        UnpackBits(ordered, nbits.dtype(), {nbits.n, nbits.k, row_bytes, nbits.width()}, true));
    ASSIGN_OR_RETURN(const NBitsOperand b,
                     EmitOperand(context, nbits, std::move(weights), *scales, groups));
    y = context.Emit1("MatMul", {a, b.dequantised});
    if (b.added != ir::kAbsent)
      y = context.Emit1("Add", {y, BlockSumsTimes(context, a, nbits, b.added, y)});
  }
  if (context.has_input(5)) y = context.Emit1("Add", {y, context.input(5)});
  context.Bind(0, y);
  return OkStatus();
}

}  // namespace fettle::ops
