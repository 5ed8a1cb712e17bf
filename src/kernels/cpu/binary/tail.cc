#include "kernels/cpu/binary/tail.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

/// The chain from `running` to `result`; nothing where they are the same.
Result<std::optional<elementwise::Program>> CompileChain(const ir::Graph& group,
                                                         StateAssignment states,
                                                         ir::ValueId running, ir::ValueId result) {
  if (running == result) return std::optional<elementwise::Program>();
  if (group.value(result).shape != group.value(running).shape)
    return Unsupported("results do not have the product's shape");
  ir::Graph chain = group;
  chain.outputs = {result};
  State floats{.storage = DType::kF32};
  const int rank = group.value(result).shape->rank();
  if (group.nodes()[0].op == "BinaryConv"_op) floats.layout = Layout::ChannelsLast(rank);
  states.outputs = {floats};
  ASSIGN_OR_RETURN(
      elementwise::Program program,
      elementwise::Program::Compile(chain, states, elementwise::Geometry::kRows, running));
  return std::optional<elementwise::Program>(std::move(program));
}

}  // namespace

Result<TailFacts> ReadTail(const ir::Graph& group) {
  const ir::Node &product = group.nodes()[0], &last = group.nodes().back();
  TailFacts facts{.anchor = product.outputs[0], .floats = group.outputs[0]};
  facts.float_output = 0;
  if (last.op != "PackBits"_op) {
    if (group.outputs.size() != 1) return Unsupported("a value inside the group is an output");
    facts.packed = facts.floats;
    return facts;
  }
  facts.packed = last.inputs[0];
  facts.bit_output = static_cast<int>(group.outputs.size()) - 1;
  if (facts.bit_output > 1 || group.outputs[facts.bit_output] != last.outputs[0])
    return Unsupported("several values inside the group are outputs");
  if (facts.bit_output == 0) {
    facts.float_output = -1;
    facts.floats = facts.packed;
  }
  const Shape& shape = *group.value(facts.packed).shape;
  ASSIGN_OR_RETURN(facts.packing, ops::ReadPackBits(last, shape));
  const int axis = product.op == "BinaryConv"_op ? 1 : shape.rank() - 1;
  if (facts.packing.axis != axis || facts.packing.groups != 1 ||
      product.attributes.Int("group", 1) != 1)
    return Unsupported("bits of groups of channels");
  return facts;
}

Result<ProductTail> ProductTail::Compile(const ir::Graph& group, const TailFacts& facts,
                                         const StateAssignment& states) {
  ProductTail tail;
  tail.facts_ = facts;
  ASSIGN_OR_RETURN(tail.to_floats_, CompileChain(group, states, facts.anchor, facts.floats));
  ASSIGN_OR_RETURN(tail.to_packed_, CompileChain(group, states, facts.floats, facts.packed));
  return tail;
}

void ProductTail::AppendPacks(std::vector<PackRequest>& packs) const {
  for (const auto* program : {&to_floats_, &to_packed_}) {
    if (*program) packs.insert(packs.end(), (*program)->packs().begin(), (*program)->packs().end());
  }
}

void ProductTail::Run(const LaunchArgs& args, size_t first_pack, const Block& block) const {
  elementwise::Tile tile{.row = block.row,
                         .rows = block.rows,
                         .col = block.column,
                         .cols = block.columns,
                         .running = block.floats,
                         .running_stride = block.stride,
                         .out = block.floats,
                         .out_stride = block.stride};
  if (to_floats_) {
    to_floats_->Run(to_floats_->Bind(args.inputs, args.packed.subspan(first_pack), {}), tile);
    first_pack += to_floats_->packs().size();
  }
  if (!packs_bits()) return;
  const float* packed = block.floats;
  int64_t stride = block.stride;
  if (to_packed_) {
    tile.out = block.scratch;
    tile.out_stride = stride = block.columns;
    to_packed_->Run(to_packed_->Bind(args.inputs, args.packed.subspan(first_pack), {}), tile);
    packed = block.scratch;
  }
  const int64_t words = facts_.packing.words();
  PackRowArgs row = RowsOf(facts_.packing);
  row.channels = block.columns;
  row.bits = args.outputs[facts_.bit_output].host<uint64_t>() + block.row * words +
             block.column / ops::kWordBits;
  for (int64_t i = 0; i < block.rows; ++i, row.bits += words) {
    row.x = packed + i * stride;
    PackRow(row);
  }
}

}  // namespace fettle::kernels
