#include "kernels/opencl/many_rows/half_products.h"

#include <limits>

#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kHalvingItems = 128, kRowParts = 2, kHalf = 2, kFloat = 4;
/// Two chunks, so that the smallest tiles take whole rows.
constexpr int64_t kLeastSteps = 32;

WarpProduct TiledProduct(const HalfProduct& product, const OpenClFacts& facts) {
  WarpProduct tiled{.m = product.m, .n = product.n, .for_warpgroups = facts.mma.warpgroups};
  tiled.k = product.k * (kRowParts + product.weight_parts() - 1);
  return tiled;
}

Status CheckTile(const HalfProduct& product, const WarpTile& tile, const OpenClFacts& facts) {
  if (product.k % tile.bk != 0)
    return InvalidArgument("BK: expected a divisor of {}, got {}", product.k, tile.bk);
  return CheckWarpTile(TiledProduct(product, facts), tile, facts);
}

WarpTile UsualTile(const HalfProduct& product, const OpenClFacts& facts) {
  constexpr WarpTile kLeastTile = {32, 64, 32, 16, 32, 1, 3};
  const WarpTile usual = UsualWarpTile(TiledProduct(product, facts), facts);
  return CheckTile(product, usual, facts).ok() ? usual : kLeastTile;
}

int64_t Aligned(int64_t bytes) { return DivideUp(bytes, 256) * 256; }

}  // namespace

Status CheckHalfProduct(const HalfProduct& product, const OpenClFacts& facts) {
  if (!facts.mma.available)
    return Unsupported("the device is not known to have matrix instructions");
  if (product.k % kLeastSteps != 0) return Unsupported("rows of {}: no tiles", product.k);
  if (product.n % 4 != 0) return Unsupported("{} columns: no multiple of 4", product.n);
  if (product.m * product.n > std::numeric_limits<cl_int>::max())
    return Unsupported("kernels count elements in 32 bits");
  return OkStatus();
}

int HalfProductTaste(const HalfProduct& product, const OpenClFacts& facts) {
  constexpr int64_t kManyRows = 32;
  return product.m >= kManyRows && !facts.mma.emulated ? 70 : 1;
}

ParamSpace HalfProductSpace(const HalfProduct& product, const OpenClFacts& facts) {
  return {kWarpTileFields.Tunables(), kWarpTileFields.Write(UsualTile(product, facts)),
          [product, &facts](const Params& params) {
            return CheckTile(product, kWarpTileFields.Read(params), facts);
          }};
}

HalfWorkspace::HalfWorkspace(const HalfProduct& product, const WarpTile& tile,
                             const OpenClFacts& facts) {
  row_factors = Aligned(product.m * product.k * kRowParts * kHalf);
  weights = row_factors + Aligned(product.m * kFloat);
  const int64_t parts = product.cuts_weights ? product.weight_parts() : 0;
  weight_factors = weights + Aligned(product.n * product.k * parts * kHalf);
  shared = weight_factors + (parts > 0 ? Aligned(product.n * kFloat) : 0);
  bytes = shared + TiledProduct(product, facts).SharedBytesOf(tile);
}

WorkSizes HalvingSizes(int64_t rows) { return GroupSizes(kHalvingItems, rows); }

Status AddHalfProduct(const HalfProduct& product, const WarpTile& tile, const OpenClDevice& device,
                      size_t packed, RecordedKernel& made) {
  const OpenClFacts& facts = device.facts();
  const HalfWorkspace at(product, tile, facts);
  const bool is_even = product.m % tile.bm == 0 && product.n % tile.bn == 0;
  BuildOptions options = AccessOptions(RowStates()[0]);
  DefineWarpTile(tile, facts, options);
  options.Define("DEPTH", product.k)
      .Define("A_PARTS", kRowParts)
      .Define("B_PARTS", product.weight_parts())
      .Define("COLUMN_FACTORS", product.cuts_weights ? 1 : 0)
      .Define("EVEN", is_even ? 1 : 0);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      device.BuildKernel(MakeProgram("many_rows/product.cl", options, made.expression.text()),
                         "product"));
  made.workspace = at.bytes;
  RecordedLaunch launch(std::move(kernel), WarpTileSizes(TiledProduct(product, facts), tile));
  launch.Workspace(0, kChunkBytes).Workspace(at.row_factors, kFloat);
  if (product.cuts_weights)
    launch.Workspace(at.weights, kChunkBytes).Workspace(at.weight_factors, kFloat);
  else
    launch.Packed(packed, kChunkBytes);
  launch.Output(0, kFloat).Int(product.m).Int(product.n);
  if (tile.split > 1) launch.Workspace(at.shared, kTilePartBytes).Tickets();
  made.recorded.push_back(std::move(launch));
  return OkStatus();
}

Work HalfProductWork(const HalfProduct& product, double weight_bytes) {
  const auto m = static_cast<double>(product.m), n = static_cast<double>(product.n),
             k = static_cast<double>(product.k);
  const auto passes = static_cast<double>(kRowParts + product.weight_parts() - 1);
  return {.operations = 2 * m * n * k * passes,
          .ceiling = "f16 mma",
          .bytes = n * k * weight_bytes + 4 * m * (n + k)};
}

}  // namespace fettle::kernels
