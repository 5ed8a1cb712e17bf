// opencl.half_weights.rows: MatMul and Gemm whose constant weights 16 bits hold exactly, with the
// element-wise operators behind them: f16 and bf16 of language models, which are read as they are.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/match/product.h"
#include "kernels/opencl/constant_floats.h"
#include "kernels/opencl/one_row/warps.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "tensor/sixteen_bits.h"

namespace fettle::kernels {
namespace {

struct HalfFacts {
  Product p;
  DType storage = DType::kF16;
  bool widened = false;  // f32 that is read as what it was made of; else f16, which others know too
};

/// Work-items of a group, those that share a row of weights, rows of weights that each sums at a
/// time, and rows that they are multiplied by.
struct HalfTile {
  int64_t items = 128, lanes = 32, columns = 4, rows = 1;

  int64_t group_columns() const { return items / lanes * columns; }
  int64_t bytes() const { return rows * columns * items * 4; }
};
constexpr Fields kHalfFields("half_weights/rows.cl",
                             Field{"items", &HalfTile::items, {32, 64, 128, 256}, "ITEMS"},
                             Field{"lanes", &HalfTile::lanes, {8, 16, 32, 64}, "LANES"},
                             Field{"columns", &HalfTile::columns, {1, 2, 4, 8}, "COLUMNS"},
                             Field{"rows", &HalfTile::rows, {1, 2, 4, 8}, "ROWS"});

Status CheckTile(const HalfTile& tile, const OpenClFacts& of) {
  if (tile.lanes > tile.items) return InvalidArgument("lanes: expected at most {}", tile.items);
  if (tile.items > std::min(of.max_work_group_size, of.max_work_item_sizes[0]))
    return Unsupported("{} work-items: the device takes fewer", tile.items);
  if (tile.bytes() > of.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", tile.bytes(), of.local_bytes);
  return OkStatus();
}

constexpr HalfTile kLeastTile{.items = 32, .lanes = 32, .columns = 1};

Result<HalfFacts> Read(const ir::Graph& group, const Device& device) {
  HalfFacts facts;
  ASSIGN_OR_RETURN(facts.p, ReadRowsByConstant(group));
  const Product& p = facts.p;
  if (p.m == 0 || p.n == 0 || p.k == 0) return Unsupported("an empty operand");
  if (p.alpha != 1 || p.addend != ir::kAbsent) return Unsupported("a factor, or an addend");
  if (group.outputs.size() != 1) return Unsupported("several results");
  const std::optional<DType> stored = SixteenBitsOf(*group.value(p.b).constant);
  if (!stored) return Unsupported("weights that 16 bits do not hold");
  facts.storage = *stored;
  facts.widened = group.value(p.b).dtype == DType::kF32;
  if (p.k % 8 != 0) return Unsupported("rows of {}: no octets", p.k);
  if (std::max(p.n * p.k / 8, p.m * std::max(p.n, p.k)) > std::numeric_limits<cl_int>::max())
    return Unsupported("kernels count elements in 32 bits");
  RETURN_IF_ERROR(CheckTile(kLeastTile, AsOpenCl(device).facts()));
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const HalfFacts&,
                                            const Device&) {
  StateAssignment states = StatesBeside(group, RowStates()[0]);
  if (!IsFloatValue(group.value(group.outputs[0]).dtype))
    return Unsupported("an output that is not a float");
  RETURN_IF_ERROR(Expression::Compile(group, states, group.nodes()[0].output(0)).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// Of one row where lanes are a warp (one_row/lanes.clh), which holds eight octets at a time.
HalfTile WarpTile(const HalfFacts& facts, const OpenClFacts& of) {
  HalfTile tile{.items = 256, .lanes = 32, .columns = 2};
  const auto groups = [&] { return DivideUp(facts.p.n, tile.group_columns()); };
  if (groups() < 2 * of.compute_units) tile.columns = 1;
  while (tile.items > 64 && groups() < of.compute_units) tile.items /= 2;
  return tile;
}

/// As many columns to a work-item as leave each compute unit two groups.
HalfTile UsualTile(const HalfFacts& facts, const OpenClFacts& of) {
  HalfTile tile;
  if (facts.p.m == 1 && TakesPtx(of))
    if (const HalfTile warps = WarpTile(facts, of); CheckTile(warps, of).ok()) return warps;
  while (tile.rows < 8 && tile.rows < facts.p.m) tile.rows *= 2;
  if (tile.rows > 2) tile.columns = 2;
  while (tile.lanes > 8 && tile.lanes > facts.p.k / 8) tile.lanes /= 2;
  const auto groups = [&] {
    return DivideUp(facts.p.n, tile.group_columns()) * DivideUp(facts.p.m, tile.rows);
  };
  while (tile.columns > 1 && groups() < 2 * of.compute_units) tile.columns /= 2;
  while (tile.items > 64 && groups() < of.compute_units) tile.items /= 2;
  return CheckTile(tile, of).ok() ? tile : kLeastTile;
}

ParamSpace Space(const Problem&, const HalfFacts& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  return {kHalfFields.Tunables(), kHalfFields.Write(UsualTile(facts, of)),
          [&of](const Params& params) { return CheckTile(kHalfFields.Read(params), of); }};
}

/// [n, k], in their bits.
PackRequest PackWeights(const HalfFacts& facts) {
  const Product& p = facts.p;
  PackRequest request;
  request.constants = {p.b};
  request.recipe =
      fmt::format("opencl.half_weights.{}{}", p.trans_b ? "nk" : "kn", DTypeName(facts.storage));
  request.bytes = StorageBytes(facts.storage, p.n * p.k);
  request.pack = [facts](std::span<const Constant* const> constants, std::byte* out) {
    const Product& p = facts.p;
    if (CopySixteenBits(*constants[0], !p.trans_b, out)) return OkStatus();
    StoreMatrix(*constants[0],
                {.rows = p.trans_b ? p.n : p.k,
                 .columns = p.trans_b ? p.k : p.n,
                 .transposes = !p.trans_b,
                 .pitch = p.k},
                facts.storage, out);
    return OkStatus();
  };
  return request;
}

Work WorkOf(const Problem&, const HalfFacts& facts, const Params&, const Device&) {
  const auto m = static_cast<double>(facts.p.m), n = static_cast<double>(facts.p.n),
             k = static_cast<double>(facts.p.k);
  return {.operations = 2 * m * n * k, .bytes = 2 * n * k + 4 * m * (n + k)};
}

int Taste(const HalfFacts& facts, const Device&) { return facts.widened ? 50 : 1; }

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const HalfFacts& facts,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const HalfTile tile = kHalfFields.Read(params);
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->expression,
                   Expression::Compile(group, problem.states, group.nodes()[0].output(0)));
  made->own_packs.push_back(PackWeights(facts));
  BuildOptions options = AccessOptions(RowStates()[0]);
  kHalfFields.Define(tile, options);
  options.Define("OCTETS", facts.p.k / 8)
      .Define("BFLOAT", facts.storage == DType::kBF16 ? 1 : 0)
      .Define("PTX", tile.rows == 1 && TakesPtx(AsOpenCl(device).facts()) ? 1 : 0);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("half_weights/rows.cl", options, made->expression.text()), "rows"));
  made->recorded
      .emplace_back(std::move(kernel),
                    GroupSizes(tile.items, DivideUp(facts.p.n, tile.group_columns()),
                               DivideUp(facts.p.m, tile.rows)))
      .Input(InputIndex(group, facts.p.a), 4)
      .Packed(0, 16)
      .Output(0, 4)
      .Int(facts.p.m)
      .Int(facts.p.n);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<HalfFacts> kFamily{.read = Read,
                                    .states = States,
                                    .prepare = Prepare,
                                    .params = Space,
                                    .taste = Taste,
                                    .work = WorkOf};

}  // namespace

extern const KernelDesc kOpenClHalfWeightsRows;
const KernelDesc kOpenClHalfWeightsRows = {.name = "opencl.half_weights.rows",
                                           .match = MatchAs<kFamily>,
                                           .parameters = ParametersOf<kHalfFields>};

}  // namespace fettle::kernels
