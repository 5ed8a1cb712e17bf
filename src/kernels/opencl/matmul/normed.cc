// opencl.matmul.mma.normed: opencl.matmul.mma with its epilogue, then LayerNormalization or
// RMSNormalization of the rows, in one launch.
#include <algorithm>

#include "kernels/opencl/conv/product_chain.h"
#include "kernels/opencl/gemm/warp_tile.h"
#include "kernels/opencl/matmul/product_family.h"
#include "kernels/opencl/norm/row_norm.h"

namespace fettle::kernels {
namespace {

struct NormedFacts {
  NormedGroup group;
  Product product;
  GemmShape shape;  // stored as f16
};

/// Pieces of 16 bytes that a work-item keeps of a row: few where that can be, since many make long
/// programs; and the most work-items of a row, a warp.
constexpr int64_t kFewHeld = 4, kMostHeld = 16, kOctet = 8, kMostLanes = 32;

/// Work-items of a row.
int64_t LanesOf(const NormedFacts& facts, const WarpTile& tile) {
  int64_t lanes = std::max(tile.items() / tile.bm, int64_t{1});
  while (lanes < kMostLanes && DivideUp(facts.group.length / kOctet, lanes) > kFewHeld) lanes *= 2;
  return lanes;
}

int64_t RowTiles(const GemmShape& shape, const WarpTile& tile) {
  return DivideUp(shape.m, tile.bm) * shape.batch;
}
/// Tickets of tiles that are shared come before those of rows.
int64_t FirstTicket(const GemmShape& shape, const WarpTile& tile) {
  return tile.split == 1 ? 0 : RowTiles(shape, tile) * DivideUp(shape.n, tile.bn);
}

Status CheckTile(const NormedFacts& facts, const Params& params, const OpenClFacts& device) {
  const WarpTile tile = kWarpTileFields.Read(params);
  RETURN_IF_ERROR(kGemmMma.valid(facts.shape, params, device));
  if (tile.warpgroups != 0) return InvalidArgument("WARPGROUPS: not with rows that are normalised");
  const int64_t tickets = FirstTicket(facts.shape, tile) + RowTiles(facts.shape, tile);
  if (tickets > OpenClStream::kTickets)
    return InvalidArgument("BM: expected at most {} tickets, got {}", OpenClStream::kTickets,
                           tickets);
  if (LanesOf(facts, tile) <= kMostLanes) return OkStatus();
  return InvalidArgument("BM: more than {} work-items for a row", kMostLanes);
}

Result<NormedFacts> Read(const ir::Graph& group, const Device& device) {
  NormedFacts facts;
  ASSIGN_OR_RETURN(facts.group, ReadNormedGroup(group));
  const ir::Graph& product = *facts.group.rows;
  ASSIGN_OR_RETURN(facts.product, ReadProduct(product));
  ASSIGN_OR_RETURN(facts.shape, ReadShape(product, facts.product, DType::kF16));
  RETURN_IF_ERROR(kGemmMma.applies(facts.shape, AsOpenCl(device).facts()));
  if (facts.shape.n != facts.group.length)
    return Unsupported("rows of {} are normalised, the product has {}", facts.group.length,
                       facts.shape.n);
  constexpr int64_t kLongest = kMostHeld * kMostLanes * kOctet;
  if (facts.shape.n > kLongest)
    return Unsupported("rows of {}: at most {}", facts.shape.n, kLongest);
  if (facts.shape.n % kOctet != 0)
    return Unsupported("rows of {}: not a multiple of 8", facts.shape.n);
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const NormedFacts& facts,
                                            const Device& device) {
  RETURN_IF_ERROR(StatesFor(kGemmMma, *facts.group.rows, facts.product, device).status());
  return std::vector<StateAssignment>{RowsOf(group, DType::kF16)};
}

/// The tile of the product alone, where that is none of warpgroups.
Params UsualTile(const NormedFacts& facts, const OpenClFacts& device) {
  const Params usual = kGemmMma.defaults(facts.shape, device);
  if (CheckTile(facts, usual, device).ok()) return usual;
  return kWarpTileFields.Write(WarpTile{64, 64, 64, 32, 32, 1, 3});
}

ParamSpace Space(const Problem&, const NormedFacts& facts, const Device& device) {
  const OpenClFacts& device_facts = AsOpenCl(device).facts();
  return {kGemmMma.tunables(), UsualTile(facts, device_facts),
          [facts, &device_facts](const Params& params) {
            return CheckTile(facts, params, device_facts);
          }};
}

void DefineNorm(const NormedFacts& facts, const WarpTile& tile, bool has_both,
                BuildOptions& options) {
  options.Define("NORM", has_both ? 2 : 1).Define("NORM_MEAN", facts.group.norm.takes_mean ? 1 : 0);
  options.Define("NORM_BIAS", facts.group.norm.packs.size() > 1 ? 1 : 0);
  options.Define("NORM_LENGTH", facts.group.length).Define("NORM_LANES", LanesOf(facts, tile));
  options.Define("NORM_ALIGNED", 1);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const NormedFacts& facts,
                                                const Params& params, const Device& device) {
  const OpenClFacts& device_facts = AsOpenCl(device).facts();
  const WarpTile tile = kWarpTileFields.Read(params);
  const std::shared_ptr<const ir::Graph>& group = facts.group.rows;
  const Problem product{group, RowsOf(*group, DType::kF16), problem.threads};
  GemmSetup setup = kGemmMma.setup(facts.shape, kGemmMma.forms.front(), params, device_facts);
  DefineNorm(facts, tile, problem.group->outputs.size() > 1, setup.options);
  RowNorm norm = facts.group.norm;
  norm.first_ticket = FirstTicket(facts.shape, tile);
  return PrepareProduct(product, device, facts.product, facts.shape, std::move(setup),
                        Arithmetic::kF32, std::move(norm));
}

/// Where the last group of some rows has few pieces of them for each work-item: then that takes as
/// long as a launch would, or less (an H200), and the host, which lags behind, has one less.
int Taste(const NormedFacts& facts, const Device& device) {
  constexpr int kUsual = 15;
  constexpr int64_t kMostPieces = 12;
  const OpenClFacts& device_facts = AsOpenCl(device).facts();
  const GemmShape& shape = facts.shape;
  const Params usual = kGemmMma.defaults(shape, device_facts);
  const WarpTile tile = kWarpTileFields.Read(usual);
  const bool is_piece = shape.m >= 16 && shape.n >= 16 && shape.k >= 16;
  const bool is_short = tile.bm * facts.group.length / kOctet <= kMostPieces * tile.items();
  const bool is_taken = CheckTile(facts, usual, device_facts).ok() && is_piece && is_short;
  return is_taken && HostLagsBehind(device) ? kUsual : kOnlyMeasured;
}

constexpr Family<NormedFacts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Taste};

}  // namespace

extern const KernelDesc kOpenClMatMulMmaNormed;
const KernelDesc kOpenClMatMulMmaNormed = {.name = "opencl.matmul.mma.normed",
                                           .match = MatchAs<kFamily>,
                                           .parameters = ProductParameters<kGemmMma>};

}  // namespace fettle::kernels
