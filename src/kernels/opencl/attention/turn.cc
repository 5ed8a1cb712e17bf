#include "kernels/opencl/attention/turn.h"

#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"
#include "tensor/reorder.h"

namespace fettle::kernels {
namespace {

/// The node that makes a value; -1: none of the group does.
ir::NodeId MakerIn(const ir::Graph& group, ir::ValueId value) {
  for (const ir::NodeId id : group.nodes().ids())
    if (group.node(id).outputs[0] == value) return id;
  return -1;
}

Status CheckTables(const ir::Graph& group, const ir::Node& node) {
  for (size_t i : {1, 2}) {
    const ir::Value& table = group.value(node.inputs[i]);
    if (!table.is_constant() || table.dtype != DType::kF32)
      return Unsupported("cosines and sines that are not constant floats");
  }
  const ir::ValueId first = node.input(3);
  if (first == ir::kAbsent || group.value(first).is_constant() ||
      *group.value(first).shape != Shape{1} || group.value(first).dtype != DType::kI64)
    return Unsupported("positions that do not follow a first one");
  return OkStatus();
}

PackRequest PackTable(ir::ValueId id, const Shape& shape) {
  const State packed{.storage = DType::kF32};
  return {.constants = {id},
          .recipe = fmt::format("row.{}", DTypeName(DType::kF32)),
          .bytes = StateBytes(shape, packed),
          .pack = [packed](std::span<const Constant* const> constants, std::byte* out) {
            ASSIGN_OR_RETURN(const Tensor tensor, constants[0]->ToTensor());
            Reorder(tensor.shape(), {.storage = tensor.dtype()}, tensor.data(), packed, out);
            return OkStatus();
          }};
}

}  // namespace

Result<TurnFacts> ReadTurn(const ir::Graph& group, const CacheFacts& facts) {
  const ir::Node& attends = group.nodes()[group.nodes().size() - 1];
  if (facts.a.length != 1) return Unsupported("several new keys that are turned");
  TurnFacts turn;
  turn.queries = MakerIn(group, attends.inputs[0]);
  turn.keys = MakerIn(group, attends.inputs[1]);
  if (group.nodes().size() != 3 || turn.queries < 0 || turn.keys < 0)
    return Unsupported("turns queries and keys only");
  const ir::Node &q = group.node(turn.queries), &k = group.node(turn.keys);
  if (q.op != "RotaryEmbedding"_op || k.op != "RotaryEmbedding"_op)
    return Unsupported("turns by RotaryEmbedding only");
  RETURN_IF_ERROR(CheckTables(group, q));
  for (size_t i : {1, 2, 3})
    if (k.input(i) != q.inputs[i]) return Unsupported("queries and keys that turn differently");
  for (const ir::Node* node : {&q, &k})
    if (group.value(node->inputs[0]).dtype != DType::kF32 ||
        group.value(node->inputs[0]).is_constant())
      return Unsupported("rows that are not floats, or are constant");
  const Shape& cosines = *group.value(q.inputs[1]).shape;
  ASSIGN_OR_RETURN(turn.shape, ops::ReadRotary(q, *group.value(q.inputs[0]).shape, cosines));
  ASSIGN_OR_RETURN(const ops::RotaryShape keys,
                   ops::ReadRotary(k, *group.value(k.inputs[0]).shape, cosines));
  if (!turn.shape.packed || !keys.packed || turn.shape.size != facts.a.size ||
      keys.size != facts.a.size || keys.rotated != turn.shape.rotated ||
      keys.interleaved != turn.shape.interleaved)
    return Unsupported("queries and keys that turn differently");
  turn.cosines = cosines;
  return turn;
}

void DefineTurn(const TurnFacts& facts, BuildOptions& options) {
  options.Define("TURNS", 1)
      .Define("HALF_TURNED", facts.shape.rotated / 2)
      .Define("NEIGHBOURS", facts.shape.interleaved ? 1 : 0)
      .Define("POSITIONS", facts.cosines[0])
      .Define("TABLE_ROW", facts.cosines[1]);
}

Status TurnLaunch::Build(const ir::Graph& group, const TurnFacts& facts, const OpenClDevice& device,
                         std::vector<PackRequest>& packs) {
  facts_ = facts;
  const ir::Node& keys = group.node(facts.keys);
  inputs_[0] = InputIndex(group, group.node(facts.queries).inputs[0]);
  inputs_[1] = InputIndex(group, keys.inputs[0]);
  first_ = InputIndex(group, keys.inputs[3]);
  const Shape& x = *group.value(keys.inputs[0]).shape;
  rows_ = x[0] * x[1];
  heads_ = x[2] / facts.shape.size;
  first_pack_ = packs.size();
  for (size_t i : {1, 2})
    packs.push_back(PackTable(keys.inputs[i], *group.value(keys.inputs[i]).shape));
  ASSIGN_OR_RETURN(
      rotary_, device.BuildKernel(MakeProgram("attention/rotary.cl", BuildOptions()), "rotary"));
  return OkStatus();
}

Status TurnLaunch::TurnKeys(const LaunchArgs& args, const Location& to) const {
  ArgList list;
  list.Tensor(args.inputs[inputs_[1]], 4);
  AddTables(args, list);
  const ops::RotaryShape& shape = facts_.shape;
  const int64_t half = shape.rotated / 2;
  list.Tensor(to, 4);
  for (const int64_t value : {heads_, shape.size, half, shape.interleaved ? int64_t{1} : half,
                              shape.interleaved ? int64_t{2} : int64_t{1}, int64_t{1},
                              facts_.cosines[0], facts_.cosines[1]})
    list.Value(static_cast<cl_int>(value));
  return OpenClStreamOf(args).Launch(*rotary_, PlaceSizes(DivideUp(shape.size, 2), heads_, rows_),
                                     list.args());
}

void TurnLaunch::AddTables(const LaunchArgs& args, ArgList& list) const {
  list.Tensor(args.packed[first_pack_], 4)
      .Tensor(args.packed[first_pack_ + 1], 4)
      .Tensor(args.inputs[first_], 8);
}

}  // namespace fettle::kernels
