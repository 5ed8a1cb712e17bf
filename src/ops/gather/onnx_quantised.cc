// com.microsoft.GatherBlockQuantized: rows of a quantised table, dequantised behind the Gather.
#include "ops/gather/onnx.h"
#include "ops/import.h"
#include "ops/quantise/onnx.h"

namespace fettle::ops {
namespace {

/// A table whose bytes hold several numbers, as a table of numbers [rows, columns].
Result<ir::ValueId> Unpacked(ImportContext& context, size_t i, int bits, int64_t columns) {
  const Constant* packed = context.constant(i);
  if (packed == nullptr || packed->shape().rank() != 2)
    return Unsupported("packed numbers must be a constant matrix");
  const Shape& bytes = packed->shape();
  if (columns < 0) columns = bytes[1] * (8 / bits);
  ASSIGN_OR_RETURN(Constant numbers,
                   UnpackBits(*packed, DType::kU8, {bytes[0], columns, bytes[1], bits}, false));
  return context.Const(std::move(numbers));
}

}  // namespace

/// Inputs data, indices, scales, zero_points.
Status ImportGatherBlockQuantized(ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  const int64_t bits = from.Int("bits", 4), block = from.Int("block_size", 128);
  const int64_t gather_axis = from.Int("gather_axis", 0);
  int64_t axis = from.Int("quantize_axis", 1);
  const Constant *data = context.constant(0), *scales = context.constant(2);
  if (data == nullptr || scales == nullptr)
    return Unsupported("the table and its scales must be constants");
  const int rank = data->shape().rank();
  const auto on = NormaliseAxis(axis, rank), along = NormaliseAxis(gather_axis, rank);
  if (!on || !along || *on == *along || block < 1 || scales->shape().rank() != rank)
    return InvalidModel("attributes gather_axis {}, quantize_axis {} and block_size {}",
                        gather_axis, axis, block);
  const bool bytes = data->dtype() == DType::kU8;
  ir::ValueId table = context.input(0), zeros = context.input(3);
  if (bytes && bits != 8) {
    if ((bits != 2 && bits != 4) || *along != 0 || *on != rank - 1)
      return Unsupported("packed numbers of {} bits along axis {}", bits, *on);
    ASSIGN_OR_RETURN(table, Unpacked(context, 0, static_cast<int>(bits), -1));
    if (zeros != ir::kAbsent) {
      ASSIGN_OR_RETURN(zeros, Unpacked(context, 3, static_cast<int>(bits), scales->shape()[*on]));
    }
  }
  const auto gather = [&](ir::ValueId x) {
    return context.Emit1("Gather", {x, context.input(1)}, {{"axis", int64_t{*along}}});
  };
  if (bytes && zeros == ir::kAbsent) {
    // Bytes have the middle of their range as zero point.
    const std::byte middle[] = {static_cast<std::byte>(1 << (bits - 1))};
    zeros = context.Const(Constant::Splat(DType::kU8, scales->shape(), middle));
  }
  // Indices may have any rank: axes behind the gathered one are counted from the end.
  axis = *on > *along ? *on - rank : *on;
  context.Bind(0, context.Emit1("DequantizeLinear",
                                {gather(table), gather(context.input(2)),
                                 zeros == ir::kAbsent ? zeros : gather(zeros)},
                                {{"axis", axis}, {"block_size", block}}));
  return OkStatus();
}

}  // namespace fettle::ops
