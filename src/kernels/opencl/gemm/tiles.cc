#include "kernels/opencl/gemm/tiles.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

size_t Blocks(int64_t extent, int64_t block) {
  return static_cast<size_t>((extent + block - 1) / block);
}

int64_t PowerOfTwoUpTo(int64_t limit) {
  int64_t power = 1;
  while (power * 2 <= limit) power *= 2;
  return power;
}

/// Floats that one work-item may keep without spilling on any device of the kind.
int64_t RegisterBudget(const OpenClFacts& facts) { return facts.is_cpu ? 512 : 128; }

/// What follows a sum may have to keep infinities and NaN.
Status CheckFastMath(const GemmShape& shape, int64_t fast_math) {
  if (fast_math == 0 || !shape.is_finished) return OkStatus();
  return InvalidArgument("FAST_MATH: expected 0 where more than the sum is computed");
}

Status TakesAll(const GemmShape&, const OpenClFacts&) { return OkStatus(); }

}  // namespace

cl_int4 MatrixMap(const GemmShape& shape) {
  const auto count = [&](const GemmShape::Matrices& of) {
    return static_cast<cl_int>(of.matrices > 0 ? of.matrices : shape.batch);
  };
  cl_int4 map;
  map.s[0] = static_cast<cl_int>(shape.a.repeat);
  map.s[1] = count(shape.a);
  map.s[2] = static_cast<cl_int>(shape.b.repeat);
  map.s[3] = count(shape.b);
  return map;
}

bool RowsAligned(const GemmShape& shape, int64_t width, bool with_a) {
  const int64_t b_row = shape.trans_b ? shape.k : shape.n;
  const int64_t a_row = shape.trans_a ? shape.m : shape.k;
  return b_row % width == 0 && shape.n % width == 0 && (!with_a || a_row % width == 0);
}

Status CheckGemmGroup(int64_t lx, int64_t ly, const OpenClFacts& facts) {
  if ((lx == 0) != (ly == 0)) return InvalidArgument("LX and LY: expected both or none to be 0");
  if (lx * ly > facts.max_work_group_size || lx > facts.max_work_item_sizes[0] ||
      ly > facts.max_work_item_sizes[1])
    return InvalidArgument("LX * LY: expected at most {}, got {}", facts.max_work_group_size,
                           lx * ly);
  return OkStatus();
}

Status CheckRegisters(const GemmShape& shape, const RegisterTile& tile, const OpenClFacts& facts) {
  const int64_t floats = tile.tm * tile.tn * tile.vw;
  if (floats > RegisterBudget(facts))
    return InvalidArgument("TM * TN * VW: expected at most {}, got {}", RegisterBudget(facts),
                           floats);
  // More than what covers the matrix once computes nothing that is kept.
  if (tile.vw > 1 && tile.vw >= 2 * shape.n)
    return InvalidArgument("VW: the product has {} columns", shape.n);
  RETURN_IF_ERROR(CheckFastMath(shape, tile.fast_math));
  return CheckGemmGroup(tile.lx, tile.ly, facts);
}

RegisterTile UsualRegisters(const GemmShape& shape, const OpenClFacts& facts) {
  // Processors: 24 of 32 vector registers of 16 lanes, one work-item a group, columns of B in
  // cache.
  const int64_t most = facts.is_cpu ? 16 : 4;
  const int64_t width = PowerOfTwoUpTo(std::clamp<int64_t>(shape.n, 1, most));
  const int64_t vectors = facts.is_cpu ? std::clamp<int64_t>(shape.n / width, 1, 4) : 1;
  const int64_t rows = std::clamp<int64_t>(shape.m, 1, facts.is_cpu ? 6 : 4);
  const bool tiny_group = facts.is_cpu || facts.max_work_group_size < 64;
  return {.tm = rows == 5 ? 4 : rows,
          .tn = vectors,
          .vw = width,
          .k_unroll = facts.is_cpu ? 1 : 4,
          .rows_first = facts.is_cpu ? 1 : 0,
          .lx = tiny_group ? 1 : 16,
          .ly = tiny_group ? 1 : 4};
}

GemmSetup SetUpRegisters(const GemmShape& shape, const GemmForms&, const RegisterTile& tile,
                         const OpenClFacts& facts) {
  GemmSetup setup{.path = "gemm/registers.cl", .function = "gemm_registers"};
  kRegisterFields.Define(tile, setup.options);
  if (tile.fast_math != 0) setup.options.Add("-cl-fast-relaxed-math");
  setup.options.Define("ALIGNED", !facts.is_cpu && RowsAligned(shape, tile.vw, false) ? 1 : 0);
  setup.options.Define("TRANS_A", shape.trans_a ? 1 : 0).Define("TRANS_B", shape.trans_b ? 1 : 0);
  std::array<size_t, 2> items = {Blocks(shape.n, tile.tn * tile.vw), Blocks(shape.m, tile.tm)};
  if (tile.rows_first != 0) std::swap(items[0], items[1]);
  setup.sizes = {.gws = {items[0], items[1], static_cast<size_t>(shape.batch)},
                 .lws = GemmGroup(tile.lx, tile.ly)};
  setup.more = {MatrixMap(shape)};
  return setup;
}

namespace {

/// What a work-group brings to local memory, and the part of each work-item.
struct GroupTile {
  int64_t mwg = 32, nwg = 32, kwg = 16, tm = 4, tn = 4, buffers = 1, fast_math = 0;
  int64_t items() const { return mwg / tm * (nwg / tn); }
  /// Pitches of four more columns, as in local.cl.
  int64_t bytes() const { return buffers * kwg * (mwg + nwg + 8) * 4; }
};
constexpr Fields kLocalFields("gemm/local.cl",
                              Field{"MWG", &GroupTile::mwg, {16, 32, 64, 128}, "MWG"},
                              Field{"NWG", &GroupTile::nwg, {16, 32, 64, 128}, "NWG"},
                              Field{"KWG", &GroupTile::kwg, {8, 16, 32}, "KWG"},
                              Field{"TM", &GroupTile::tm, {4, 8}, "TM"},
                              Field{"TN", &GroupTile::tn, {4, 8}, "TN"},
                              Field{"BUFFERS", &GroupTile::buffers, {1, 2}, "BUFFERS"},
                              Field{"FAST_MATH", &GroupTile::fast_math, {0, 1}});

Status CheckLocal(const GemmShape& shape, const GroupTile& tile, const OpenClFacts& facts) {
  const int64_t items = tile.items();
  if (items > facts.max_work_group_size)
    return InvalidArgument("MWG, NWG, TM, TN: expected at most {} work-items, got {}",
                           facts.max_work_group_size, items);
  if (tile.mwg * tile.kwg / 4 % items != 0 || tile.nwg * tile.kwg / 4 % items != 0)
    return InvalidArgument("KWG: {} work-items cannot share the tiles evenly", items);
  if (tile.bytes() > facts.local_bytes)
    return InvalidArgument("tiles: expected at most {} bytes of local memory, got {}",
                           facts.local_bytes, tile.bytes());
  return CheckFastMath(shape, tile.fast_math);
}

GroupTile UsualLocal(const GemmShape& shape, const OpenClFacts& facts) {
  const auto groups = [&](int64_t size) {
    return static_cast<int64_t>(Blocks(shape.m, size) * Blocks(shape.n, size)) * shape.batch;
  };
  if (facts.is_cpu) return {};
  constexpr GroupTile kTiles[] = {{128, 128, 16, 8, 8, 2}, {64, 64, 16, 4, 4, 2}};
  for (const GroupTile& tile : kTiles) {
    if (groups(tile.mwg) >= facts.compute_units && CheckLocal(shape, tile, facts).ok()) return tile;
  }
  return {};
}

GemmSetup SetUpLocal(const GemmShape& shape, const GemmForms&, const GroupTile& tile,
                     const OpenClFacts& facts) {
  GemmSetup setup{.path = "gemm/local.cl", .function = "gemm_local"};
  kLocalFields.Define(tile, setup.options);
  if (tile.fast_math != 0) setup.options.Add("-cl-fast-relaxed-math");
  const bool even =
      shape.k > 0 && shape.m % tile.mwg == 0 && shape.n % tile.nwg == 0 && shape.k % tile.kwg == 0;
  setup.options.Define("CHECKED", even ? 0 : 1);
  setup.options.Define("ALIGNED", !facts.is_cpu && RowsAligned(shape, 4, true) ? 1 : 0);
  setup.options.Define("TRANS_A", shape.trans_a ? 1 : 0).Define("TRANS_B", shape.trans_b ? 1 : 0);
  const auto x = static_cast<size_t>(tile.nwg / tile.tn);
  const auto y = static_cast<size_t>(tile.mwg / tile.tm);
  setup.sizes = {.gws = {Blocks(shape.n, tile.nwg) * x, Blocks(shape.m, tile.mwg) * y,
                         static_cast<size_t>(shape.batch)},
                 .lws = {x, y, 1}};
  setup.more = {MatrixMap(shape)};
  return setup;
}

}  // namespace

const GemmAlgorithm kGemmRegisters =
    GemmOf<kRegisterFields, UsualRegisters, CheckRegisters, SetUpRegisters>(kAsGivenForms,
                                                                            TakesAll);
const GemmAlgorithm kGemmLocal =
    GemmOf<kLocalFields, UsualLocal, CheckLocal, SetUpLocal>(kAsGivenForms, TakesAll);

}  // namespace fettle::kernels
