// Products whose work-items share what they read or what they write: in sub-groups, along k among
// work-groups and in one, and many small ones side by side.
#include <algorithm>

#include "kernels/opencl/gemm/algorithm.h"
#include "kernels/opencl/gemm/tiles.h"
#include "kernels/opencl/gemm/vectors.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

Status HasSubGroups(const GemmShape& shape, const OpenClFacts& facts) {
  if (!facts.HasExtension("cl_khr_subgroups") && !facts.HasExtension("cl_intel_subgroups"))
    return Unsupported("the device has no sub-groups (cl_khr_subgroups)");
  return OneProduct(shape);
}
/// Work-items of a sub-group, and the tile of each.
struct SubGroupTile {
  int64_t lanes = 16, tm = 8, vw = 2;
};
constexpr Fields kSubGroupFields(
    "gemm/sub_groups.cl", Field{"SUB_GROUP", &SubGroupTile::lanes, {8, 16, 32, 64}, "SUB_GROUP"},
    Field{"TM", &SubGroupTile::tm, {4, 8, 16}, "TM"},
    Field{"VW", &SubGroupTile::vw, {1, 2, 4}, "VW"});

SubGroupTile UsualSubGroup(const GemmShape&, const OpenClFacts& facts) {
  return {.lanes = facts.family == "intel" ? 16 : facts.family == "nvidia" ? 32 : 64};
}
Status CheckSubGroup(const GemmShape&, const SubGroupTile& tile, const OpenClFacts& facts) {
  if (tile.lanes <= facts.max_work_group_size) return OkStatus();
  return InvalidArgument("SUB_GROUP: expected at most {}, got {}", facts.max_work_group_size,
                         tile.lanes);
}
GemmSetup SetUpSubGroups(const GemmShape& shape, const GemmForms&, const SubGroupTile& tile,
                         const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/sub_groups.cl", .function = "gemm_sub_groups"};
  kSubGroupFields.Define(tile, setup.options);
  setup.options.Define("EMULATED", 0).Define("ALIGNED", shape.n % tile.vw == 0 ? 1 : 0);
  setup.sizes =
      GroupSizes(tile.lanes, DivideUp(shape.n, tile.lanes * tile.vw), DivideUp(shape.m, tile.tm));
  return setup;
}

constexpr int64_t kLeastPart = 64;  // steps of k

Status CanSplit(const GemmShape& shape, const OpenClFacts& facts) {
  RETURN_IF_ERROR(OneProduct(shape));
  if (shape.k < 2 * kLeastPart)
    return Unsupported("k is {}: parts would have less than {} steps", shape.k, kLeastPart);
  if (StorageBytes(DType::kF32, 2 * shape.m * shape.n) <= facts.max_allocation_bytes)
    return OkStatus();
  return Unsupported("two partial products exceed {} bytes", facts.max_allocation_bytes);
}
/// A tile in registers, for so many parts of k.
struct Parts {
  int64_t parts = 2;
};
constexpr Fields kPartsFields("", Field{"PARTS", &Parts::parts, {2, 4, 8, 16, 32}});

std::vector<Tunable> SplitTunables() {
  std::vector<Tunable> tunables = kRegisterFields.Tunables();
  kPartsFields.AppendTunables(tunables);
  return tunables;
}
Status CheckSplit(const GemmShape& shape, const Params& params, const OpenClFacts& facts) {
  const int64_t parts = kPartsFields.Read(params).parts;
  if (shape.k < parts * kLeastPart)
    return InvalidArgument("PARTS: expected at most {}, got {}", shape.k / kLeastPart, parts);
  if (StorageBytes(DType::kF32, parts * shape.m * shape.n) > facts.max_allocation_bytes)
    return InvalidArgument("PARTS: the partial products exceed {} bytes",
                           facts.max_allocation_bytes);
  return CheckRegisters(shape, kRegisterFields.Read(params), facts);
}
/// As many parts as keep a large device busy with the usual tiles of 16 rows and 64 columns.
Params UsualSplit(const GemmShape& shape, const OpenClFacts& facts) {
  Params params = kRegisterFields.Write(UsualRegisters(shape, facts));
  const int64_t groups = DivideUp(shape.m, 16) * DivideUp(shape.n, 64);
  Parts of;
  while (of.parts < 16 && of.parts * groups < 4 * facts.compute_units &&
         shape.k >= 4 * of.parts * kLeastPart)
    of.parts *= 2;
  kPartsFields.Write(of, params);
  return params;
}
GemmSetup SetUpSplit(const GemmShape& shape, const GemmForms& forms, const Params& params,
                     const OpenClFacts& facts) {
  GemmSetup setup = SetUpRegisters(shape, forms, kRegisterFields.Read(params), facts);
  setup.options.Define("SPLIT_K", 1);
  const int64_t step = DivideUp(shape.k, kPartsFields.Read(params).parts);
  setup.parts = DivideUp(shape.k, step);
  setup.sizes.gws[2] = setup.parts;
  setup.more.emplace_back(static_cast<cl_int>(step));
  return setup;
}

Status FitsLocalMemory(const GemmShape& shape, const OpenClFacts& facts) {
  if (shape.m * shape.n * shape.k == 0) return Unsupported("an empty matrix");
  const int64_t bytes = StorageBytes(DType::kF32, shape.k * (shape.m + DivideUp(shape.n, 4) * 4));
  if (bytes <= facts.local_bytes && shape.m * shape.n <= 128 * 128) return OkStatus();
  return Unsupported("{}x{}x{} is not small: A and B take {} of {} bytes of local memory", shape.m,
                     shape.n, shape.k, bytes, facts.local_bytes);
}
struct Lanes {
  int64_t lanes = 1;
};
constexpr Fields kLaneFields("gemm/batched.cl",
                             Field{"LANES", &Lanes::lanes, kLaneCounts, "LANES"});

Lanes UsualBatched(const GemmShape&, const OpenClFacts& facts) { return {UsualLanes(facts)}; }
Status CheckBatched(const GemmShape&, const Lanes& of, const OpenClFacts& facts) {
  return CheckLanes(of.lanes, facts);
}
GemmSetup SetUpBatched(const GemmShape& shape, const GemmForms&, const Lanes& of,
                       const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/batched.cl", .function = "gemm_batched"};
  kLaneFields.Define(of, setup.options);
  setup.options.Define("M", shape.m).Define("N", shape.n).Define("K", shape.k);
  setup.options.Define("ALIGNED", shape.n % 4 == 0 ? 1 : 0);
  setup.sizes = GroupSizes(of.lanes, 1, 1, shape.batch);
  setup.more = {MatrixMap(shape)};
  return setup;
}

/// Rows and columns of a work-group, and its work-items.
struct SharedTile {
  int64_t tm = 2, tn = 2, lanes = 256;
};
constexpr Fields kSharedFields("gemm/shared.cl", Field{"TM", &SharedTile::tm, {1, 2, 4}, "TM"},
                               Field{"TN", &SharedTile::tn, {1, 2, 4}, "TN"},
                               Field{"LANES", &SharedTile::lanes, {64, 128, 256}, "LANES"});

Status CanShare(const GemmShape& shape, const OpenClFacts& facts) {
  const int64_t bytes = StorageBytes(DType::kF32, 4 * 64);
  if (shape.m * shape.n * shape.k == 0) return Unsupported("an empty matrix");
  if (facts.max_work_group_size >= 64 && facts.local_bytes >= bytes) return OkStatus();
  return Unsupported("work-groups of 64 items: the device takes {}", facts.max_work_group_size);
}
Status CheckShared(const GemmShape&, const SharedTile& tile, const OpenClFacts& facts) {
  constexpr int64_t kSpans = 16;  // as in shared.cl
  RETURN_IF_ERROR(CheckLanes(tile.lanes, facts));
  const int64_t bytes = StorageBytes(DType::kF32, tile.tm * tile.tn * (tile.lanes + kSpans));
  if (bytes <= facts.local_bytes) return OkStatus();
  return InvalidArgument("TM, TN, LANES: sums of {} bytes, the device has {} of local memory",
                         bytes, facts.local_bytes);
}
/// Large tiles read less, small ones are more work-groups.
SharedTile UsualShared(const GemmShape& shape, const OpenClFacts& facts) {
  SharedTile tile{.tm = shape.m > 2 ? 4 : shape.m, .tn = shape.n > 2 ? 4 : shape.n};
  const auto groups = [&] {
    return DivideUp(shape.m, tile.tm) * DivideUp(shape.n, tile.tn) * shape.batch;
  };
  while (tile.tm * tile.tn > 1 && groups() < facts.compute_units)
    (tile.tm >= tile.tn ? tile.tm : tile.tn) /= 2;
  tile.lanes = 64;
  while (tile.lanes < 256 && 2 * tile.lanes <= facts.max_work_group_size && !facts.is_cpu)
    tile.lanes *= 2;
  if (!CheckShared(shape, tile, facts).ok()) tile = {.tm = 1, .tn = 1, .lanes = 64};
  return tile;
}
GemmSetup SetUpShared(const GemmShape& shape, const GemmForms&, const SharedTile& tile,
                      const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/shared.cl", .function = "gemm_shared"};
  kSharedFields.Define(tile, setup.options);
  setup.b_by_columns = shape.constant_b;
  setup.options.Define("TRANS_A", shape.trans_a ? 1 : 0);
  setup.options.Define("TRANS_B", shape.trans_b || shape.constant_b ? 1 : 0);
  setup.sizes =
      GroupSizes(tile.lanes, DivideUp(shape.n, tile.tn), DivideUp(shape.m, tile.tm), shape.batch);
  setup.more = {MatrixMap(shape)};
  return setup;
}

}  // namespace

const GemmAlgorithm kGemmShared =
    GemmOf<kSharedFields, UsualShared, CheckShared, SetUpShared>(kAsGivenForms, CanShare);
const GemmAlgorithm kGemmSubGroups =
    GemmOf<kSubGroupFields, UsualSubGroup, CheckSubGroup, SetUpSubGroups>(kRowForms, HasSubGroups);
const GemmAlgorithm kGemmSplit = {.forms = kAsGivenForms,
                                  .applies = CanSplit,
                                  .tunables = SplitTunables,
                                  .valid = CheckSplit,
                                  .defaults = UsualSplit,
                                  .setup = SetUpSplit,
                                  .parameters = ParametersOf<kRegisterFields, kPartsFields>};
const GemmAlgorithm kGemmBatched =
    GemmOf<kLaneFields, UsualBatched, CheckBatched, SetUpBatched>(kRowForms, FitsLocalMemory);

}  // namespace fettle::kernels
