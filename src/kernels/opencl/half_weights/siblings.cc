// opencl.half_weights.siblings: two or three MatMul of one row by weights that 16 bits hold, in one
// launch with the RMSNormalization that makes the row; two may become one row (one_row/gate.h).
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/half_weights/half_rows.h"
#include "kernels/opencl/norm/operands.h"
#include "kernels/opencl/one_row/gate.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct HalfSiblings {
  std::vector<HalfFacts> products;
  std::vector<ir::NodeId> nodes;  // of the products
  int64_t gate = 0;               // of one_row/matrices.clh

  int64_t columns() const {
    int64_t sum = 0;
    for (const HalfFacts& facts : products) sum += facts.p.n;
    return sum;
  }
  /// What the sums of a tile take, of both matrices of a pair.
  int64_t SumBytes(const HalfTile& tile) const { return tile.bytes() * (gate != 0 ? 2 : 1); }
};

/// What the row takes in local memory, beside the sums of lanes.
int64_t RowBytes(const HalfSiblings& facts) { return facts.products[0].p.k * 4; }

Result<HalfSiblings> ReadNormed(const ir::Graph& group, const Device& device) {
  HalfSiblings facts;
  ASSIGN_OR_RETURN(const GatedPair pair, ReadGatedPair(group));
  facts.gate = pair.gate;
  ASSIGN_OR_RETURN(facts.nodes, ReadSiblings(group, "MatMul"_op, 1, pair));
  RETURN_IF_ERROR(CheckRowNorm(group));
  for (const ir::NodeId id : facts.nodes) {
    const ir::Node& node = group.node(id);
    if (!group.value(node.inputs[1]).is_constant())
      return Unsupported("computes MatMul by constants only");
    ASSIGN_OR_RETURN(const Product p, ReadProduct(group, node, /*constant_b=*/true));
    if (p.m != 1 || p.batches.size() != 1 || p.b_matrices != 1) return Unsupported("several rows");
    ASSIGN_OR_RETURN(facts.products.emplace_back(), ReadHalfProduct(group, p, device));
    if (facts.products.back().storage != facts.products[0].storage)
      return Unsupported("weights of several types");
    if (pair.has_gate() && facts.products.back().p.n != facts.products[0].p.n)
      return Unsupported("a gate of other columns");
  }
  if (RowBytes(facts) + facts.SumBytes(kLeastHalfTile) > AsOpenCl(device).facts().local_bytes)
    return Unsupported("rows of {}: local memory holds fewer", facts.products[0].p.k);
  return facts;
}

Result<std::vector<StateAssignment>> RowsOfFloats(const ir::Graph& group, const HalfSiblings&,
                                                  const Device&) {
  return std::vector<StateAssignment>{StatesBeside(group, RowStates()[0])};
}

Status CheckNormedTile(const HalfSiblings& facts, const HalfTile& tile, const OpenClFacts& of) {
  if (tile.rows != 1) return InvalidArgument("rows: expected 1");
  const int64_t bytes = RowBytes(facts) + facts.SumBytes(tile);
  if (bytes > of.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", bytes, of.local_bytes);
  return CheckHalfTile(tile, of);
}

ParamSpace NormedSpace(const Problem&, const HalfSiblings& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  HalfTile usual = UsualHalfTile(facts.products[0], facts.columns(), of);
  if (facts.gate != 0 && usual.columns > 1) usual.columns /= 2;
  if (!CheckNormedTile(facts, usual, of).ok()) usual = kLeastHalfTile;
  return {kHalfFields.Tunables(), kHalfFields.Write(usual), [facts, &of](const Params& params) {
            return CheckNormedTile(facts, kHalfFields.Read(params), of);
          }};
}

Work NormedWork(const Problem&, const HalfSiblings& facts, const Params&, const Device&) {
  const auto n = static_cast<double>(facts.columns()),
             k = static_cast<double>(facts.products[0].p.k);
  return {.operations = 2 * n * k, .bytes = 2 * n * k + 4 * (n + k)};
}

Result<std::unique_ptr<PreparedKernel>> PrepareNormed(const Problem& problem,
                                                      const HalfSiblings& facts,
                                                      const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& norm = group.nodes()[0];
  const HalfTile tile = kHalfFields.Read(params);
  BuildOptions options = HalfOptions(facts.products[0], tile, device);
  options.Define("NORM", 1)
      .Define("MATRICES", static_cast<int64_t>(facts.products.size()))
      .Define("GATE", facts.gate);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("half_weights/rows.cl", options), "rows"));
  int64_t groups = 0;
  for (const HalfFacts& product : facts.products)
    groups += DivideUp(product.p.n, tile.group_columns());
  if (facts.gate != 0) groups /= 2;
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch& launch =
      made->recorded.emplace_back(std::move(kernel), GroupSizes(tile.items, groups));
  launch.Input(InputIndex(group, norm.inputs[0]), 4);
  for (size_t i = 0; i < facts.products.size(); ++i) {
    const ir::Node& node = group.node(facts.nodes[i]);
    const auto output =
        facts.gate != 0 ? group.outputs.begin() : std::ranges::find(group.outputs, node.outputs[0]);
    made->own_packs.push_back(PackHalfWeights(facts.products[i]));
    launch.Packed(i, 16)
        .Output(static_cast<size_t>(output - group.outputs.begin()), 4)
        .Int(facts.products[i].p.n);
  }
  const int64_t k = facts.products[0].p.k;
  ASSIGN_OR_RETURN(PackRequest pack, VectorPack(group, norm.inputs[1], k, k));
  launch.Int(1)
      .Packed(made->own_packs.size(), sizeof(float))
      .Value(static_cast<cl_float>(norm.attributes.Float("epsilon", 1e-5)));
  made->own_packs.push_back(std::move(pack));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<HalfSiblings> kFamily{.read = ReadNormed,
                                       .states = RowsOfFloats,
                                       .prepare = PrepareNormed,
                                       .params = NormedSpace,
                                       .taste = Always<60>,
                                       .work = NormedWork};

}  // namespace

extern const KernelDesc kOpenClHalfWeightsSiblings;
const KernelDesc kOpenClHalfWeightsSiblings = {.name = "opencl.half_weights.siblings",
                                               .match = MatchAs<kFamily>,
                                               .parameters = ParametersOf<kHalfFields>};

}  // namespace fettle::kernels
