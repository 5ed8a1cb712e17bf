#include "kernels/match/bits.h"

#include <bit>

#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// So that sums fit an int32.
constexpr int64_t kMaxBitPairs = int64_t{1} << 29;

int32_t KeyOf(float value) {
  const auto bits = std::bit_cast<int32_t>(value);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
/// Not by ==, which takes subnormal numbers for zero where they are flushed.
bool IsZero(float value) { return (std::bit_cast<uint32_t>(value) & 0x7fffffffU) == 0; }

Result<BitTail> ReadBitTail(const ir::Graph& group) {
  const ir::Node &product = group.nodes()[0], &last = group.nodes().back();
  BitTail tail{.anchor = product.outputs[0], .floats = group.outputs[0]};
  tail.float_output = 0;
  if (last.op != "PackBits"_op) {
    if (group.outputs.size() != 1) return Unsupported("a value inside the group is an output");
    tail.packed = tail.floats;
    return tail;
  }
  tail.packed = last.inputs[0];
  tail.bit_output = static_cast<int>(group.outputs.size()) - 1;
  if (tail.bit_output > 1 || group.outputs[tail.bit_output] != last.outputs[0])
    return Unsupported("several values inside the group are outputs");
  if (tail.bit_output == 0) {
    tail.float_output = -1;
    tail.floats = tail.packed;
  }
  const Shape& shape = *group.value(tail.packed).shape;
  ASSIGN_OR_RETURN(tail.packing, ops::ReadPackBits(last, shape));
  const int axis = product.op == "BinaryConv"_op ? 1 : shape.rank() - 1;
  if (tail.packing.axis != axis || tail.packing.groups != 1 ||
      product.attributes.Int("group", 1) != 1)
    return Unsupported("bits of groups of channels");
  return tail;
}

}  // namespace

Result<BitProduct> ReadBitProduct(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  if (node.op != "BinaryConv"_op && node.op != "BinaryMatMul"_op)
    return Unsupported("computes products of bits only");
  BitProduct read{.x = node.inputs[0], .w = node.inputs[1], .results = node.inputs[2]};
  if (!group.value(read.w).is_constant() || !group.value(read.results).is_constant() ||
      group.value(read.x).is_constant())
    return Unsupported("computed weights");
  ASSIGN_OR_RETURN(read.product, ops::ReadBinaryProduct(node, *group.value(read.x).shape,
                                                        *group.value(read.w).shape));
  if (read.product.taps() * read.product.channels > kMaxBitPairs)
    return Unsupported("over 2^29 bits a sum");
  read.to_bits = group.value(read.results).dtype == DType::kI32;
  if (read.to_bits && group.nodes().size() > 1)
    return Unsupported("operators behind results that are bits");
  ASSIGN_OR_RETURN(read.tail, ReadBitTail(group));
  return read;
}

Result<BitMaxPool> ReadBitMaxPool(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "BinaryMaxPool"_op)
    return Unsupported("computes BinaryMaxPool only");
  if (group.inputs.size() != 1) return Unsupported("its input is constant");
  BitMaxPool read{.pool = {},
                  .x = *group.value(node.inputs[0]).shape,
                  .y = *group.value(node.outputs[0]).shape};
  // As the pool of a tensor with its channels in front of the plane.
  Dims channels_first = read.x.dims();
  channels_first.insert(channels_first.begin() + 1, channels_first.back());
  channels_first.pop_back();
  ASSIGN_OR_RETURN(read.pool, ops::ReadPool(node, Shape(channels_first)));
  return read;
}

int32_t LowerKey(float bound) { return IsZero(bound) ? -1 : KeyOf(bound); }
int32_t UpperKey(float bound) { return IsZero(bound) ? 0 : KeyOf(bound); }

}  // namespace fettle::kernels
