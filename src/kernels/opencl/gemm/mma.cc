// Products of f16, of bf16, and of f32 as TF32 or in two parts of TF32, by matrix instructions
// (mma.cl): what their parameters may be and how they are launched.
#include <algorithm>

#include "kernels/opencl/gemm/tiles.h"
#include "kernels/opencl/gemm/warp_tile.h"

namespace fettle::kernels {
namespace {

int64_t RoundUp(int64_t value, int64_t multiple) { return DivideUp(value, multiple) * multiple; }
/// Distance of rows in copies: a multiple of 64 bytes, two of the pieces in which memory is read,
/// so that reading a row of a tile reads nothing of the row before.
int64_t CopiedPitch(int64_t row, int64_t chunk) { return RoundUp(row, 4 * chunk); }

Status HasMma(const GemmShape& shape, const OpenClFacts& facts) {
  if (!facts.mma.available)
    return Unsupported("the device is not known to have matrix instructions");
  if (shape.m * shape.n * shape.k == 0) return Unsupported("an empty matrix");
  return OkStatus();
}

int64_t CountMatrices(const GemmShape& shape, const GemmShape::Matrices& operand) {
  return operand.matrices > 0 ? operand.matrices : shape.batch;
}

template <int64_t kParts>
WarpProduct ProductOf(const GemmShape& shape, const OpenClFacts& facts) {
  const bool is_wide = shape.storage == DType::kF32;
  const bool for_warpgroups =
      is_wide ? facts.mma.float_warpgroups && kParts == 1 : facts.mma.warpgroups;
  return {shape.m,
          shape.n,
          shape.k * StorageBytes(shape.storage, 1) / 2,
          shape.batch,
          for_warpgroups && !shape.trans_a,
          kParts};
}

/// Of few rows, as of transformers, in f16: small tiles, whose programs are short, where all of
/// them run at once; of long sums with two warps for each piece, and shared where sums are very
/// long. Figures of an H200: docs/gpu.md.
WarpTile OfFewRows(const WarpProduct& product, const WarpTile& usual, const OpenClFacts& facts) {
  constexpr int64_t kShortSum = 512, kLongSum = 900, kVeryLongSum = 2000;
  constexpr WarpTile kShort = {32, 32, 64, 16, 16, 1, 6}, kLong = {32, 32, 128, 16, 16, 2, 4};
  WarpTile tile = product.k <= kShortSum ? kShort : kLong;
  const int64_t tiles = product.TilesOf(tile);
  const bool is_between = product.k > kShortSum && product.k < kLongSum;
  if (usual.bm != 32 || is_between || tiles > facts.compute_units) return usual;
  for (const int64_t slices : {2, 4})
    if (product.k >= kVeryLongSum && slices * tiles <= facts.compute_units) tile.split = slices;
  return CheckWarpTile(product, tile, facts).ok() ? tile : usual;
}

/// Of very long sums, warpgroups' smallest tile in slices, where two groups for each unit of the
/// device are enough for all of them. Figures of an H200: docs/laboratory/gpu.md.
WarpTile OfLongSums(const WarpProduct& product, const WarpTile& usual, const OpenClFacts& facts) {
  constexpr int64_t kVeryLongSum = 2000, kLeastSteps = 768;
  WarpTile tile = {64, 64, 64, 16, 64, 1, 6, 1, 1};
  const int64_t tiles = product.TilesOf(tile);
  for (const int64_t slices : {2, 3, 4})
    if (slices * tiles <= 2 * facts.compute_units && product.k >= slices * kLeastSteps)
      tile.split = slices;
  const bool is_busy = tile.split > 1 && 2 * tile.split * tiles >= facts.compute_units;
  const bool is_long = product.k >= kVeryLongSum;
  return is_long && is_busy && CheckWarpTile(product, tile, facts).ok() ? tile : usual;
}

template <int64_t kParts>
WarpTile UsualMma(const GemmShape& shape, const OpenClFacts& facts) {
  const WarpProduct product = ProductOf<kParts>(shape, facts);
  const WarpTile usual = UsualWarpTile(product, facts);
  if (shape.storage == DType::kF32 || facts.is_cpu) return usual;
  return OfLongSums(product, OfFewRows(product, usual, facts), facts);
}
template <int64_t kParts>
Status CheckMma(const GemmShape& shape, const WarpTile& tile, const OpenClFacts& facts) {
  return CheckWarpTile(ProductOf<kParts>(shape, facts), tile, facts);
}

/// What is copied before: rows that do not begin at multiples of 16 bytes; for warpgroups, which
/// round nothing, f32, with B as [n, k].
void SetUpPadding(const GemmShape& shape, const WarpTile& tile, int64_t chunk, GemmSetup& setup) {
  setup.rounds = shape.storage == DType::kF32 && tile.warpgroups != 0;
  const auto row = [](bool transposed, int64_t rows, int64_t columns) {
    return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
  };
  const auto [a_rows, a_row] = row(shape.trans_a, shape.m, shape.k);
  const auto [b_rows, b_row] = row(shape.trans_b, shape.k, shape.n);
  if (setup.rounds || a_row % chunk != 0)
    setup.pad_a = {CountMatrices(shape, shape.a), a_rows, a_row, CopiedPitch(a_row, chunk)};
  if (shape.constant_b || (!setup.rounds && b_row % chunk == 0)) return;
  const bool transposes = setup.rounds && !shape.trans_b;
  setup.pad_b = {CountMatrices(shape, shape.b), b_rows, b_row,
                 CopiedPitch(transposes ? b_rows : b_row, chunk), transposes};
}

template <int64_t kParts>
GemmSetup SetUpMma(const GemmShape& shape, const GemmForms&, const WarpTile& tile,
                   const OpenClFacts& facts) {
  GemmSetup setup{.path = "gemm/mma.cl", .function = "gemm_mma"};
  DefineWarpTile(tile, facts, setup.options);
  if (kParts > 1) setup.options.Define("PARTS", kParts);
  const int64_t a_row = shape.trans_a ? shape.m : shape.k;
  // Rows along k are read four words at a time, others one.
  setup.b_by_columns = shape.constant_b && shape.storage == DType::kF32;
  const int64_t chunk = kChunkBytes / StorageBytes(shape.storage, 1), steps = tile.bk * chunk / 8;
  SetUpPadding(shape, tile, chunk, setup);
  const bool trans_b = shape.trans_b || setup.b_by_columns || setup.pad_b.transposes;
  const int64_t b_row = trans_b ? shape.k : shape.n;
  const bool copies_b = setup.pad_b.matrices > 0 || (shape.constant_b && b_row % chunk != 0);
  setup.b_pitch = copies_b ? CopiedPitch(b_row, chunk) : b_row;
  const int64_t a_pitch = setup.pad_a.matrices > 0 ? setup.pad_a.pitch : a_row;
  const bool even = shape.m % tile.bm == 0 && shape.n % tile.bn == 0 && shape.k % steps == 0;
  setup.options.Define("CHECKED", even ? 0 : 1);
  setup.options.Define("CHUNKS_ALIGNED", 1);
  setup.options.Define("ALIGNED", shape.n % 4 == 0 ? 1 : 0);
  setup.options.Define("TRANS_A", shape.trans_a ? 1 : 0).Define("TRANS_B", trans_b ? 1 : 0);
  setup.sizes = WarpTileSizes(ProductOf<kParts>(shape, facts), tile);
  setup.shared_bytes = ProductOf<kParts>(shape, facts).SharedBytesOf(tile);
  setup.more = {MatrixMap(shape), static_cast<cl_int>(a_pitch), static_cast<cl_int>(setup.b_pitch)};
  return setup;
}

/// Algorithm of matrices stored as `storages`, each element in kParts.
template <const auto& storages, int64_t kParts = 1>
constexpr GemmAlgorithm MmaOf() {
  GemmAlgorithm algorithm =
      GemmOf<kWarpTileFields, UsualMma<kParts>, CheckMma<kParts>, SetUpMma<kParts>>(kAsGivenForms,
                                                                                    HasMma);
  algorithm.storages = storages;
  return algorithm;
}

constexpr DType kHalf[] = {DType::kF16}, kBFloat[] = {DType::kBF16}, kSingle[] = {DType::kF32};

}  // namespace

const GemmAlgorithm kGemmMma = MmaOf<kHalf>();
const GemmAlgorithm kGemmMmaBFloat = MmaOf<kBFloat>();
const GemmAlgorithm kGemmMmaTf32 = MmaOf<kSingle>();
const GemmAlgorithm kGemmMmaF32 = MmaOf<kSingle, 2>();

}  // namespace fettle::kernels
