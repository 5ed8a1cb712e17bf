// opencl.block_product.siblings: two or three BlockMatMul of one row in one launch, with the
// RMSNormalization that makes the row: queries, keys and values, or gate and up, of a decoder's
// step.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/block_product/rows_tile.h"
#include "kernels/opencl/norm/operands.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct SiblingFacts {
  std::vector<BlockFacts> products;
  bool has_norm = false;

  const BlockFacts& first() const { return products[0]; }
  int64_t columns() const {
    int64_t sum = 0;
    for (const BlockFacts& facts : products) sum += facts.p.n;
    return sum;
  }
};

Status CheckAlike(const BlockFacts& a, const BlockFacts& b) {
  if (b.p.rows != 1) return Unsupported("several rows");
  if (a.p.k != b.p.k || a.p.block != b.p.block || a.bits != b.bits || a.halves != b.halves)
    return Unsupported("weights of several forms");
  return OkStatus();
}

Result<SiblingFacts> Read(const ir::Graph& group, const Device& device) {
  SiblingFacts facts;
  facts.has_norm = group.nodes()[0].op != "BlockMatMul"_op;
  if (facts.has_norm) RETURN_IF_ERROR(CheckRowNorm(group));
  for (size_t i = facts.has_norm ? 1 : 0; i < group.nodes().size(); ++i) {
    ASSIGN_OR_RETURN(facts.products.emplace_back(), ReadBlockNode(group, group.nodes()[i]));
    RETURN_IF_ERROR(CheckAlike(facts.first(), facts.products.back()));
  }
  if (facts.products.size() < 2 || facts.products.size() > 3 ||
      group.outputs.size() != facts.products.size())
    return Unsupported("computes two or three BlockMatMul of one row only");
  const OpenClFacts& of = AsOpenCl(device).facts();
  RETURN_IF_ERROR(CheckRowsTile(facts.first(), kLeastRowsTile, of));
  if (!RoundsItself(facts.first(), kLeastRowsTile, of))
    return Unsupported("rows of {}: local memory holds fewer", facts.first().p.k);
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const SiblingFacts&,
                                            const Device&) {
  return std::vector<StateAssignment>{StatesBeside(group, RowStates()[0])};
}

Status CheckTile(const SiblingFacts& facts, const RowsTile& tile, const OpenClFacts& of) {
  RETURN_IF_ERROR(CheckRowsTile(facts.first(), tile, of));
  if (RoundsItself(facts.first(), tile, of)) return OkStatus();
  return Unsupported("rows of {} and {} sums: local memory holds fewer", facts.first().p.k,
                     tile.columns * tile.items);
}

ParamSpace Space(const Problem&, const SiblingFacts& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  RowsTile usual = UsualRowsTile(facts.first(), facts.columns(), of);
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

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const SiblingFacts& facts,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const RowsTile tile = kRowsFields.Read(params);
  BuildOptions options = BlockOptions(facts.first(), device);
  kRowsFields.Define(tile, options);
  options.Define("ROWS", 1).Define("OWN", 1).Define("NORM", facts.has_norm ? 1 : 0);
  options.Define("MATRICES", static_cast<int64_t>(facts.products.size()));
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("block_product/rows.cl", options), "rows"));
  auto made = std::make_unique<RecordedKernel>();
  int64_t tiles = 0;
  for (const BlockFacts& product : facts.products)
    tiles += DivideUp(product.p.n, tile.group_columns());
  const int64_t groups = LaunchedGroups(tile, tiles, AsOpenCl(device).facts());
  RecordedLaunch& launch =
      made->recorded.emplace_back(std::move(kernel), GroupSizes(tile.items, groups));
  launch.Input(InputIndex(group, group.nodes()[0].inputs[0]), 4);
  for (size_t i = 0; i < facts.products.size(); ++i) {
    const ir::Node& node = group.nodes()[i + (facts.has_norm ? 1 : 0)];
    const auto output = std::ranges::find(group.outputs, node.outputs[0]);
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
