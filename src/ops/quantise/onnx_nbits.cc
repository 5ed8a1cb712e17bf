// com.microsoft.MatMulNBits: A times weights of 2, 4 or 8 bits with a scale for each block of a
// row.
#include <cstring>

#include "ops/import.h"
#include "ops/quantise/onnx.h"
#include "tensor/packed_rows.h"

namespace fettle::ops {
namespace {

struct NBits {
  int64_t n = 0, k = 0, bits = 0, block = 0;
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t per_byte() const { return 8 / bits; }
  DType dtype() const { return bits == 8 ? DType::kU8 : DType::kU4; }
  int width() const { return static_cast<int>(bits); }
};

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
  if (context.has_input(4)) return Unsupported("input 'g_idx' is not supported");
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
  ASSIGN_OR_RETURN(
      Constant weights,
      UnpackBits(*packed, nbits.dtype(), {nbits.n, nbits.k, row_bytes, nbits.width()}, true));
  ASSIGN_OR_RETURN(Constant zeros, ZeroPoints(context, nbits));
  ASSIGN_OR_RETURN(Constant by_blocks, Transposed(*scales, nbits));
  const ir::ValueId dequantised =
      context.Emit1("DequantizeLinear",
                    {context.Const(std::move(weights)), context.Const(std::move(by_blocks)),
                     context.Const(std::move(zeros))},
                    {{"axis", int64_t{0}}, {"block_size", nbits.block}});
  ir::ValueId y = context.Emit1("MatMul", {context.input(0), dequantised});
  if (context.has_input(5)) y = context.Emit1("Add", {y, context.input(5)});
  context.Bind(0, y);
  return OkStatus();
}

}  // namespace fettle::ops
