#include "kernels/cpu/binary/tail.h"

#include <algorithm>
#include <array>
#include <cmath>

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

/// Floats in registers are compared as floats, which flushing makes zeros of such numbers.
bool IsSubnormal(double bound) {
  return std::fpclassify(static_cast<float>(bound)) == FP_SUBNORMAL;
}

}  // namespace

Result<ProductTail> ProductTail::Compile(const ir::Graph& group, const BitTail& facts,
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
  row.bits = BitsAt(args, block);
  for (int64_t i = 0; i < block.rows; ++i, row.bits += words) {
    row.x = packed + i * stride;
    PackRow(row);
  }
}

uint64_t* ProductTail::BitsAt(const LaunchArgs& args, const Block& block) const {
  return args.outputs[facts_.bit_output].host<uint64_t>() + block.row * facts_.packing.words() +
         block.column / ops::kWordBits;
}

std::optional<RowTail> ProductTail::ForRows(FloatForm form, int64_t outputs) const {
  const bool are_sums = form == FloatForm::kScaled || form == FloatForm::kOnes;
  if (!are_sums || !RowTail::Takes(outputs)) return std::nullopt;
  std::optional<RowSteps> to_floats = RowSteps::Of(to_floats_),
                          to_packed = RowSteps::Of(to_packed_);
  if (!to_floats || !to_packed || to_floats->count() + to_packed->count() > RowTail::kMaxSteps)
    return std::nullopt;
  if (packs_bits() && (IsSubnormal(facts_.packing.low) || IsSubnormal(facts_.packing.high)))
    return std::nullopt;
  return RowTail(*this, *std::move(to_floats), *std::move(to_packed));
}

std::vector<Alias> RowTail::aliases() const {
  std::vector<Alias> all;
  if (tail_.needs_floats() || !to_packed_.chain().empty()) return all;
  for (const elementwise::ChainLink& link : to_floats_.chain()) {
    if (link.input >= 0) all.push_back({.output = tail_.float_output(), .input = link.input});
  }
  return all;
}

std::pair<const float*, int64_t> RowTail::Beside(const LaunchArgs& args,
                                                 const ProductTail::Block& block) const {
  for (const elementwise::ChainLink& link : to_floats_.chain()) {
    if (link.input < 0) continue;
    const auto [row, column] = link.b_strides;
    return {args.inputs[link.input].host<float>() + block.row * row + block.column * column, row};
  }
  return {};
}

RowTail::Steps RowTail::Bind(const LaunchArgs& args, size_t first_pack) const {
  Steps steps;
  RowStep* next = steps.data();
  const auto append = [&](const RowSteps& some,
                          const std::optional<elementwise::Program>& program) {
    if (!program) return;
    some.Fill(program->Bind(args.inputs, args.packed.subspan(first_pack), {}), next);
    next += some.count();
    first_pack += program->packs().size();
  };
  append(to_floats_, tail_.to_floats_);
  append(to_packed_, tail_.to_packed_);
  return steps;
}

void RowTail::Run(const LaunchArgs& args, const Steps& steps, const RowCounts& sums,
                  const ProductTail::Block& block) const {
  RowTailArgs rows{.sums = sums,
                   .row = block.row,
                   .column = block.column,
                   .columns = block.columns,
                   .steps = steps.data(),
                   .to_floats = to_floats_.count(),
                   .to_packed = to_packed_.count(),
                   .y = tail_.needs_floats() ? nullptr : block.floats,
                   .y_stride = block.stride};
  if (tail_.packs_bits()) {
    const ops::BitPacking& packing = tail_.facts_.packing;
    rows.bits = tail_.BitsAt(args, block);
    rows.bits_stride = tail_.facts_.packing.words();
    rows.low = static_cast<float>(packing.low);
    rows.high = static_cast<float>(packing.high);
    rows.invert = packing.invert;
  }
  RunRowTail(rows);
}

}  // namespace fettle::kernels
