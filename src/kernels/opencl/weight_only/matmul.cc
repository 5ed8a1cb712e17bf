// opencl.weight_only.matmul: rows times a constant of 2, 4 or 8 bits with scales, which stays
// packed in the device's memory and is decoded as it is multiplied.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/match/code_panels.h"
#include "kernels/match/product.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

/// Columns of a panel: what a row of work-items of a GPU reads side by side; a vector of a CPU.
constexpr int kGpuPanel = 64, kCpuPanel = 16;

PanelLayout LayoutFor(const ir::Graph& group, const CodeProduct& facts, const OpenClFacts& opencl) {
  const ops::WeightOnly& w = facts.weights;
  const Constant& weights = *group.value(w.weights).constant;
  PanelLayout layout = LayoutOf(w, weights.dtype(), opencl.is_cpu ? kCpuPanel : kGpuPanel);
  layout.has_zeros = HasZeroPoints(
      w, weights, w.zeros == ir::kAbsent ? nullptr : group.value(w.zeros).constant.get());
  layout.has_bias = facts.product.constant_row;
  return layout;
}

Result<CodeProduct> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(CodeProduct facts, ReadCodeProduct(group));
  const Product& p = facts.product;
  constexpr int64_t kMost = std::numeric_limits<cl_int>::max() / 2;
  if (p.m == 0) return Unsupported("an empty operand");
  if (p.m * std::max(p.k, p.n) > kMost || p.n * p.k > kMost ||
      LayoutFor(group, facts, AsOpenCl(device).facts()).bytes() > kMost)
    return Unsupported("{} x {} x {}: kernels count elements in 32 bits", p.m, p.n, p.k);
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const CodeProduct& facts,
                                            const Device&) {
  if (!IsFloatValue(group.value(group.outputs[0]).dtype))
    return Unsupported("an output that is not a float");
  std::vector<StateAssignment> all;
  for (const State& row : RowStates()) {
    StateAssignment states = StatesBeside(group, row);
    RETURN_IF_ERROR(Expression::Compile(group, states, facts.anchor).status());
    all.push_back(std::move(states));
  }
  return all;
}

/// Rows and columns of a work-item, work-items beside each other, and those that share the depth.
struct CodeTile {
  int64_t rows = 1, columns = 4, items = 16, lanes = 1;
};
constexpr Fields kFields("weight_only/matmul.cl", Field{"TM", &CodeTile::rows, {1, 2, 4, 8}, "TM"},
                         Field{"VW", &CodeTile::columns, {1, 4, 8, 16}, "VW"},
                         Field{"COLS", &CodeTile::items, {1, 4, 16, 32}, "COLS"},
                         Field{"LANES", &CodeTile::lanes, {1, 4, 8, 16, 32}, "LANES"});

/// Work-items that keep a compute unit of a GPU busy while others wait for memory.
constexpr int64_t kItemsOfUnit = 1024;
/// Steps of a block that one of several work-items takes at a time.
constexpr int64_t kPieceSteps = 8;

CodeTile UsualCodeTile(const Product& p, const OpenClFacts& facts) {
  const auto rows = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(p.m)));
  if (facts.is_cpu) {
    // Few columns are spread over the cores one vector at a time.
    const int64_t vectors = DivideUp(p.n, kCpuPanel);
    return {.rows = std::min<int64_t>(rows, 8),
            .columns = kCpuPanel,
            .items = vectors >= int64_t{16} * facts.compute_units ? 4 : 1};
  }
  CodeTile tile{.rows = std::min<int64_t>(rows, 4)};
  const int64_t wanted = kItemsOfUnit * facts.compute_units;
  const int64_t items = DivideUp(p.n, tile.columns) * DivideUp(p.m, tile.rows);
  const int64_t most =
      std::min(facts.max_work_group_size / tile.items, DivideUp(p.k, kPieceSteps * kPanelStep));
  for (const int64_t lanes : {4, 8, 16, 32})
    if (lanes <= most && items * tile.lanes < wanted) tile.lanes = lanes;
  return tile;
}

ParamSpace Space(const Problem&, const CodeProduct& facts, const Device& device) {
  const OpenClFacts& opencl = AsOpenCl(device).facts();
  ParamSpace space{.tunables = kFields.Tunables(),
                   .usual = kFields.Write(UsualCodeTile(facts.product, opencl))};
  space.check = [most = opencl.max_work_group_size, local = opencl.local_bytes,
                 m = facts.product.m](const Params& params) -> Status {
    const CodeTile tile = kFields.Read(params);
    if (tile.items * tile.lanes > most)
      return InvalidArgument("COLS * LANES: expected at most {}, got {}", most,
                             tile.items * tile.lanes);
    if (tile.rows > 1 && tile.rows > m)
      return InvalidArgument("TM: expected at most {} rows, got {}", m, tile.rows);
    const int64_t bytes = tile.items * tile.lanes * tile.columns * 4;
    if (tile.lanes > 1 && bytes > local)
      return InvalidArgument("LANES: {} bytes of local memory, {} are there", bytes, local);
    return OkStatus();
  };
  return space;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const CodeProduct& facts,
                                                const Params& params, const Device& device) {
  const OpenClDevice& opencl = AsOpenCl(device);
  const Product& p = facts.product;
  const CodeTile tile = kFields.Read(params);
  const PanelLayout layout = LayoutFor(*problem.group, facts, opencl.facts());
  const DType storage = problem.states.outputs[0].storage;
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->expression,
                   Expression::Compile(*problem.group, problem.states, facts.anchor));
  BuildOptions options;
  options.Define("FETTLE_HALF", storage == DType::kF16 ? 1 : 0);
  kFields.Define(tile, options);
  options.Define("BITS", layout.bits).Define("PANEL", layout.nr);
  options.Define("ZEROS", layout.has_zeros ? 1 : 0).Define("BIAS", layout.has_bias ? 1 : 0);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      opencl.BuildKernel(MakeProgram("weight_only/matmul.cl", options, made->expression.text()),
                         "weight_only_matmul"));
  const auto extent = [](int64_t value) { return static_cast<size_t>(value); };
  const int64_t columns = DivideUp(DivideUp(p.n, tile.columns), tile.items) * tile.items;
  const WorkSizes sizes{
      .gws = {extent(columns), extent(tile.lanes), extent(DivideUp(p.m, tile.rows))},
      .lws = {extent(tile.items), extent(tile.lanes), 1}};
  const int64_t piece =
      tile.lanes == 1 ? layout.block_steps() : std::min(layout.block_steps(), kPieceSteps);
  const int64_t element = StorageBytes(storage, 1);
  RecordedLaunch launch(std::move(kernel), sizes);
  launch.Int(p.m).Int(p.n).Int(p.k).Int(layout.block);
  launch.Value(Int2(piece, DivideUp(layout.block_steps(), piece)));
  launch.Input(InputIndex(*problem.group, p.a), element).Packed(0, 0);
  launch.Value(Int4(0, layout.scales_at(), layout.zeros_at(), layout.bias_at()));
  launch.Output(0, element);
  made->recorded.push_back(std::move(launch));
  const DType dtype = problem.group->value(facts.weights.weights).dtype;
  made->own_packs.push_back(RequestPanels(facts.weights, layout, dtype, p.addend, p.beta));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

Work WorkOf(const Problem& problem, const CodeProduct& facts, const Params&, const Device& device) {
  const Product& p = facts.product;
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n);
  const auto k = static_cast<double>(p.k);
  const PanelLayout layout = LayoutFor(*problem.group, facts, AsOpenCl(device).facts());
  return {.operations = 2 * m * n * k,
          .bytes = static_cast<double>(layout.bytes()) + 4 * m * (n + k)};
}

constexpr Family<CodeProduct> kFamily{.read = Read,
                                      .states = States,
                                      .prepare = Prepare,
                                      .params = Space,
                                      .taste = Always<15>,
                                      .work = WorkOf};

}  // namespace

extern const KernelDesc kOpenClWeightOnlyMatMul;
const KernelDesc kOpenClWeightOnlyMatMul = {.name = "opencl.weight_only.matmul",
                                            .match = MatchAs<kFamily>,
                                            .parameters = ParametersOf<kFields>};

}  // namespace fettle::kernels
