// opencl.block_product.siblings: two or three BlockMatMul of one row in one launch, with the
// RMSNormalization that makes the row: queries, keys and values, or gate and up, of a decoder's
// step. Gate and up may become one row (one_row/gate.h).
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/block_product/rows_tile.h"
#include "kernels/opencl/norm/operands.h"
#include "kernels/opencl/one_row/gate.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct SiblingFacts {
  std::vector<BlockFacts> products;
  std::vector<ir::NodeId> nodes;  // of the products
  bool has_norm = false;
  int64_t gate = 0;  // of one_row/matrices.clh

  const BlockFacts& first() const { return products[0]; }
  int64_t columns() const {
    int64_t sum = 0;
    for (const BlockFacts& facts : products) sum += facts.p.n;
    return sum;
  }
  /// Sums of a work-item, of both matrices of a pair.
  RowsTile Summed(RowsTile tile) const {
    if (gate != 0) tile.columns *= 2;
    return tile;
  }
};

Status CheckAlike(const BlockFacts& a, const BlockFacts& b, bool is_pair) {
  if (b.p.rows != 1) return Unsupported("several rows");
  if (a.p.k != b.p.k || a.p.block != b.p.block || a.bits != b.bits || a.halves != b.halves)
    return Unsupported("weights of several forms");
  if (is_pair && a.p.n != b.p.n) return Unsupported("a gate of other columns");
  return OkStatus();
}

Result<SiblingFacts> Read(const ir::Graph& group, const Device& device) {
  SiblingFacts facts;
  facts.has_norm = group.nodes()[0].op == "RMSNormalization"_op;
  if (facts.has_norm) RETURN_IF_ERROR(CheckRowNorm(group));
  ASSIGN_OR_RETURN(const GatedPair pair, ReadGatedPair(group));
  facts.gate = pair.gate;
  ASSIGN_OR_RETURN(facts.nodes,
                   ReadSiblings(group, "BlockMatMul"_op, facts.has_norm ? 1 : 0, pair));
  for (const ir::NodeId id : facts.nodes) {
    ASSIGN_OR_RETURN(facts.products.emplace_back(), ReadBlockNode(group, group.node(id)));
    RETURN_IF_ERROR(CheckAlike(facts.first(), facts.products.back(), pair.has_gate()));
  }
  const OpenClFacts& of = AsOpenCl(device).facts();
  const RowsTile least = facts.Summed(kLeastRowsTile);
  RETURN_IF_ERROR(CheckRowsTile(facts.first(), least, of));
  if (!RoundsItself(facts.first(), least, of))
    return Unsupported("rows of {}: local memory holds fewer", facts.first().p.k);
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const SiblingFacts&,
                                            const Device&) {
  return std::vector<StateAssignment>{StatesBeside(group, RowStates()[0])};
}

Status CheckTile(const SiblingFacts& facts, const RowsTile& tile, const OpenClFacts& of) {
  const RowsTile summed = facts.Summed(tile);
  RETURN_IF_ERROR(CheckRowsTile(facts.first(), summed, of));
  if (RoundsItself(facts.first(), summed, of)) return OkStatus();
  return Unsupported("rows of {} and {} sums: local memory holds fewer", facts.first().p.k,
                     tile.columns * tile.items);
}

ParamSpace Space(const Problem&, const SiblingFacts& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  RowsTile usual = UsualRowsTile(facts.first(), facts.columns(), of);
  if (facts.gate != 0 && usual.columns > 1) usual.columns /= 2;
  if (!CheckTile(facts, usual, of).ok()) usual = kLeastRowsTile;
  return {kRowsFields.Tunables(), kRowsFields.Write(usual), [facts, &of](const Params& params) {
            return CheckTile(facts, kRowsFields.Read(params), of);
          }};
}

Work WorkOf(const Problem&, const SiblingFacts& facts, const Params&, const Device&) {
  BlockFacts all = facts.first();
  all.p.n = facts.columns();
  return BlockWork(all);
}

int64_t GroupsOf(const SiblingFacts& facts, const RowsTile& tile, const OpenClFacts& of) {
  int64_t tiles = 0;
  for (const BlockFacts& product : facts.products)
    tiles += DivideUp(product.p.n, tile.group_columns());
  return LaunchedGroups(facts.Summed(tile), facts.gate != 0 ? tiles / 2 : tiles, of);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const SiblingFacts& facts,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const RowsTile tile = kRowsFields.Read(params);
  BuildOptions options = BlockOptions(facts.first(), device);
  kRowsFields.Define(tile, options);
  options.Define("ROWS", 1).Define("OWN", 1).Define("NORM", facts.has_norm ? 1 : 0);
  options.Define("MATRICES", static_cast<int64_t>(facts.products.size()))
      .Define("GATE", facts.gate);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("block_product/rows.cl", options), "rows"));
  auto made = std::make_unique<RecordedKernel>();
  const int64_t groups = GroupsOf(facts, tile, AsOpenCl(device).facts());
  RecordedLaunch& launch =
      made->recorded.emplace_back(std::move(kernel), GroupSizes(tile.items, groups));
  const ir::Node& first = facts.has_norm ? group.nodes()[0] : group.node(facts.nodes[0]);
  launch.Input(InputIndex(group, first.inputs[0]), 4);
  for (size_t i = 0; i < facts.products.size(); ++i) {
    const ir::Node& node = group.node(facts.nodes[i]);
    const auto output =
        facts.gate != 0 ? group.outputs.begin() : std::ranges::find(group.outputs, node.outputs[0]);
    AddBlockPacks(node, facts.products[i], made->own_packs);
    launch.Packed(2 * i, facts.first().unit_bytes())
        .Packed(2 * i + 1, facts.first().pair_bytes())
        .Output(static_cast<size_t>(output - group.outputs.begin()), 4)
        .Int(facts.products[i].p.n);
  }
  launch.Int(groups);
  if (facts.has_norm) {
    const ir::Node& norm = group.nodes()[0];
    ASSIGN_OR_RETURN(PackRequest pack,
                     VectorPack(group, norm.inputs[1], facts.first().p.k, facts.first().p.k));
    launch.Packed(made->own_packs.size(), sizeof(float))
        .Value(static_cast<cl_float>(norm.attributes.Float("epsilon", 1e-5)));
    made->own_packs.push_back(std::move(pack));
  }
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<SiblingFacts> kFamily{.read = Read,
                                       .states = States,
                                       .prepare = Prepare,
                                       .params = Space,
                                       .taste = Always<20>,
                                       .work = WorkOf};

}  // namespace

extern const KernelDesc kOpenClBlockProductSiblings;
const KernelDesc kOpenClBlockProductSiblings = {.name = "opencl.block_product.siblings",
                                                .match = MatchAs<kFamily>,
                                                .parameters = ParametersOf<kRowsFields>};

}  // namespace fettle::kernels
