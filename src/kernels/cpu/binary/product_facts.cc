// compiled: small
#include "kernels/cpu/binary/product_facts.h"

#include "kernels/cpu/binary/tables.h"
#include "kernels/cpu/binary/tail.h"

namespace fettle::kernels {

Result<BitProductFacts> ReadProduct(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(BitProduct read, ReadBitProduct(group));
  BitProductFacts facts{std::move(read), {}};
  const ops::BinaryProduct& product = facts.product;
  ASSIGN_OR_RETURN(facts.geometry, BitGeometry::Make(product));
  if (facts.to_bits && product.groups > 1 && product.outputs / product.groups % kBitOutputs != 0)
    return Unsupported("bits of a group that end within a byte");
  return facts;
}

Result<BitProductFacts> ReadForTables(const ir::Graph& group, const Device& device) {
  if (TablePixels() == 0 || ChooseBitTile().counts_words)
    return Unsupported("the vectors here count bits, or there are no table kernels");
  ASSIGN_OR_RETURN(BitProductFacts facts, ReadProduct(group, device));
  if (facts.geometry.pixels() * 2 < TablePixels()) return Unsupported("few pixels");
  facts.by_tables = true;
  return facts;
}

Result<std::vector<StateAssignment>> ProductStates(const ir::Graph& group,
                                                   const BitProductFacts& facts, const Device&) {
  StateAssignment states = RowMajorStates(group);
  const auto take_last = [&](ir::ValueId id, State& state) {
    const ir::Value& value = group.value(id);
    if (value.dtype == DType::kU64 || value.shape->rank() != facts.product.spatial_rank() + 2)
      return;
    state.layout = Layout::ChannelsLast(value.shape->rank());
  };
  for (size_t i = 0; facts.product.is_conv && i < states.inputs.size(); ++i)
    take_last(group.inputs[i], states.inputs[i]);
  for (size_t i = 0; facts.product.is_conv && i < states.outputs.size(); ++i)
    take_last(group.outputs[i], states.outputs[i]);
  RETURN_IF_ERROR(ProductTail::Compile(group, facts.tail, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

}  // namespace fettle::kernels
