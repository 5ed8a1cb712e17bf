#include "kernels/opencl/block_product/block_weights.h"

#include <algorithm>
#include <limits>

#include "kernels/opencl/constant_floats.h"
#include "kernels/opencl/one_row/warps.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kPlaneBytes = 16, kStepBytes = 8;

int64_t PlaneBytes(const BlockFacts& facts) { return facts.p.rows * facts.units() * kPlaneBytes; }

PackRequest PackCodes(const ir::Node& node, const BlockFacts& facts) {
  const ops::BlockProduct& p = facts.p;
  PackRequest request;
  request.constants = {node.inputs[1]};
  request.recipe =
      fmt::format("opencl.block_product.n{}.k{}.unit{}.bits{}", p.n, p.k, facts.unit(), facts.bits);
  request.bytes = p.n * facts.units() * facts.unit_bytes();
  request.pack = [p, facts](std::span<const Constant* const> constants, std::byte* out) {
    if (facts.bits == 8) {
      constants[0]->CopyTo(0, p.n * p.k, out);
      return OkStatus();
    }
    std::vector<std::byte> row(p.k);
    const int64_t half = facts.unit() / 2;
    for (int64_t n = 0; n < p.n; ++n) {
      constants[0]->CopyTo(n * p.k, p.k, row.data());
      for (int64_t first = 0; first < p.k; first += facts.unit()) {
        const std::byte* codes = row.data() + first;
        for (int64_t i = 0; i < half; ++i)
          *out++ = (codes[i] & std::byte{15}) | codes[i + half] << 4;
      }
    }
    return OkStatus();
  };
  return request;
}

PackRequest PackPairs(const ir::Node& node, const BlockFacts& facts) {
  const ops::BlockProduct& p = facts.p;
  const int64_t pairs = p.n * p.blocks();
  PackRequest request;
  request.constants = {node.inputs[facts.scales], node.inputs[facts.scales + 1]};
  request.recipe = fmt::format("opencl.block_product.pairs{}.halves{}", pairs, facts.halves);
  request.bytes = pairs * facts.pair_bytes();
  request.pack = [pairs, storage = facts.halves ? DType::kF16 : DType::kF32](
                     std::span<const Constant* const> constants, std::byte* out) {
    for (int64_t i = 0; i < 2; ++i) {
      const ConstantFloats from(*constants[i]);
      for (int64_t pair = 0; pair < pairs; ++pair)
        StoreFloat(from[pair], storage, 2 * pair + i, out);
    }
    return OkStatus();
  };
  return request;
}

}  // namespace

Result<BlockFacts> ReadBlockFacts(const ir::Graph& group) {
  ASSIGN_OR_RETURN(const BlockFacts facts, ReadBlockNode(group, group.nodes()[0]));
  if (group.outputs.size() != 1) return Unsupported("several results");
  return facts;
}

Result<BlockFacts> ReadBlockNode(const ir::Graph& group, const ir::Node& node) {
  if (node.op != "BlockMatMul"_op) return Unsupported("computes BlockMatMul only");
  if (group.value(node.inputs[0]).is_constant()) return Unsupported("the rows are constant");
  std::vector<Shape> shapes;
  for (size_t i = 0; i < 4; ++i) {
    const ir::Value& value = group.value(node.inputs[i]);
    if (i > 0 && !value.is_constant()) return Unsupported("weights are computed");
    shapes.push_back(*value.shape);
  }
  BlockFacts facts;
  ASSIGN_OR_RETURN(facts.p, ops::ReadBlockProduct(node, shapes));
  if (facts.p.rows == 0) return Unsupported("no rows");
  const int64_t most = std::max(facts.p.rows, facts.p.n) * facts.p.k;
  if (std::max(most / 16, facts.p.rows * std::max(facts.p.n, facts.p.k)) >
      std::numeric_limits<cl_int>::max())
    return Unsupported("kernels count elements in 32 bits");
  facts.bits = group.value(node.inputs[1]).dtype == DType::kU4 ? 4 : 8;
  facts.halves = group.value(node.inputs[2]).dtype == DType::kF16 &&
                 group.value(node.inputs[3]).dtype == DType::kF16;
  return facts;
}

Result<std::vector<StateAssignment>> BlockStates(const ir::Graph& group, const BlockFacts&,
                                                 const Device&) {
  StateAssignment states = StatesBeside(group, RowStates()[0]);
  if (!IsFloatValue(group.value(group.outputs[0]).dtype))
    return Unsupported("an output that is not a float");
  RETURN_IF_ERROR(Expression::Compile(group, states, group.nodes()[0].output(0)).status());
  return std::vector<StateAssignment>{std::move(states)};
}

Work BlockWork(const Problem&, const BlockFacts& facts, const Params&, const Device&) {
  return BlockWork(facts);
}

Work BlockWork(const BlockFacts& facts) {
  const auto m = static_cast<double>(facts.p.rows), n = static_cast<double>(facts.p.n),
             k = static_cast<double>(facts.p.k);
  const double weight = facts.bits / 8.0 + static_cast<double>(facts.pair_bytes()) /
                                               static_cast<double>(facts.p.block);
  return {.operations = 2 * m * n * k, .bytes = n * k * weight + 4 * m * (n + k)};
}

void AddBlockPacks(const ir::Node& node, const BlockFacts& facts, std::vector<PackRequest>& packs) {
  packs.push_back(PackCodes(node, facts));
  packs.push_back(PackPairs(node, facts));
}

BuildOptions BlockOptions(const BlockFacts& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  BuildOptions options = AccessOptions(RowStates()[0]);
  options.Define("BITS", facts.bits)
      .Define("BLOCK", facts.p.block)
      .Define("HALVES", facts.halves ? 1 : 0)
      .Define("UNITS", facts.units())
      .Define("DOT", TakesPtx(of)  ? 2
                     : of.int8_dot ? 1
                                   : 0);
  return options;
}

Result<std::unique_ptr<RecordedKernel>> StartBlockProduct(const Problem& problem,
                                                          const BlockFacts& facts,
                                                          const Device& device, bool rounds) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = group.nodes()[0];
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->expression, Expression::Compile(group, problem.states, node.output(0)));
  AddBlockPacks(node, facts, made->own_packs);
  if (!rounds) return made;
  made->workspace = 2 * PlaneBytes(facts) + facts.p.rows * facts.units() * kStepBytes;
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("block_product/quantise.cl", BlockOptions(facts, device)), "quantise"));
  RecordedLaunch& launch =
      made->recorded.emplace_back(std::move(kernel), PlaceSizes(facts.p.blocks(), facts.p.rows));
  launch.Input(InputIndex(group, node.inputs[0]), 4);
  AddRoundedRows(facts, launch);
  launch.Int(facts.p.rows);
  return made;
}

void AddRoundedRows(const BlockFacts& facts, RecordedLaunch& launch) {
  launch.Workspace(0, kPlaneBytes)
      .Workspace(PlaneBytes(facts), kPlaneBytes)
      .Workspace(2 * PlaneBytes(facts), kStepBytes);
}

}  // namespace fettle::kernels
