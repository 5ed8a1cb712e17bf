// com.microsoft.MatMulNBits: A times weights of 2, 4 or 8 bits with a scale for each block of a
// row.
#include <vector>

#include "ops/import.h"
#include "ops/quantise/onnx.h"

namespace fettle::ops {
namespace {

struct NBits {
  int64_t n = 0, k = 0, bits = 0, block = 0;
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t per_byte() const { return 8 / bits; }
  DType dtype() const { return bits == 4 ? DType::kU4 : DType::kU8; }
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

/// Elements [rows, row_elements] from rows of `row_bytes` bytes, low bits first.
Result<Tensor> Unpack(const Constant& packed, const NBits& nbits, int64_t row_bytes,
                      int64_t row_elements) {
  if (packed.dtype() != DType::kU8 || packed.elements() != nbits.n * row_bytes)
    return InvalidModel("packed operand has {} elements of {}, expected {} bytes",
                        packed.elements(), DTypeName(packed.dtype()), nbits.n * row_bytes);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(nbits.dtype(), Shape{nbits.n, row_elements}));
  const int64_t mask = (int64_t{1} << nbits.bits) - 1;
  uint8_t* out = reinterpret_cast<uint8_t*>(tensor.data());
  for (int64_t row = 0; row < nbits.n; ++row) {
    for (int64_t i = 0; i < row_elements; ++i) {
      const int64_t byte = packed.GetInt(row * row_bytes + i / nbits.per_byte());
      const int64_t shift = i % nbits.per_byte() * nbits.bits;
      out[row * row_elements + i] = static_cast<uint8_t>(byte >> shift & mask);
    }
  }
  return tensor;
}

/// Packed by rows, or the middle of the range where there are none.
Result<Tensor> ZeroPoints(const ImportContext& context, const NBits& nbits) {
  if (!context.has_input(3)) {
    ASSIGN_OR_RETURN(Tensor middle, Tensor::Create(nbits.dtype(), Shape{nbits.n, nbits.blocks()}));
    for (std::byte& point : middle.bytes()) point = std::byte(1 << (nbits.bits - 1));
    return middle;
  }
  const Constant* packed = context.constant(3);
  if (packed == nullptr || packed->dtype() != DType::kU8)
    return Unsupported("zero points must be a constant of packed integers");
  const int64_t row_bytes = (nbits.blocks() + nbits.per_byte() - 1) / nbits.per_byte();
  return Unpack(*packed, nbits, row_bytes, nbits.blocks());
}

}  // namespace

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
  ASSIGN_OR_RETURN(const Tensor weights, Unpack(*packed, nbits, row_bytes, nbits.k));
  ASSIGN_OR_RETURN(const Tensor zeros, ZeroPoints(context, nbits));
  const ir::ValueId dequantised =
      context.Emit1("DequantizeLinear",
                    {context.Const(Constant::FromTensor(weights)),
                     context.Const(scales->Reshaped(Shape{nbits.n, nbits.blocks()})),
                     context.Const(Constant::FromTensor(zeros))},
                    {{"axis", int64_t{1}}, {"block_size", nbits.block}});
  const ir::ValueId transposed =
      context.Emit1("Transpose", {dequantised}, {{"perm", std::vector<int64_t>{1, 0}}});
  ir::ValueId y = context.Emit1("MatMul", {context.input(0), transposed});
  if (context.has_input(5)) y = context.Emit1("Add", {y, context.input(5)});
  context.Bind(0, y);
  return OkStatus();
}

}  // namespace fettle::ops
