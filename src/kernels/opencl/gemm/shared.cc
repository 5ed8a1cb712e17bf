// Products whose work-items share what they read or what they write: in sub-groups, along k, and
// many small ones side by side.
#include <algorithm>

#include "kernels/opencl/gemm/algorithm.h"
#include "kernels/opencl/gemm/tiles.h"
#include "kernels/opencl/gemm/vectors.h"

namespace fettle::kernels {
namespace {

Status HasSubGroups(const GemmShape& shape, const OpenClFacts& facts) {
  if (!facts.HasExtension("cl_khr_subgroups") && !facts.HasExtension("cl_intel_subgroups"))
    return Unsupported("the device has no sub-groups (cl_khr_subgroups)");
  return OneProduct(shape);
}
std::vector<Tunable> SubGroupTunables(const GemmShape&, const OpenClFacts&) {
  return {{"SUB_GROUP", {8, 16, 32, 64}}, {"TM", {4, 8, 16}}, {"VW", {1, 2, 4}}};
}
Params DefaultSubGroup(const GemmShape&, const OpenClFacts& facts) {
  return {{"SUB_GROUP", facts.family == "intel"    ? 16
                        : facts.family == "nvidia" ? 32
                                                   : 64},
          {"TM", 8},
          {"VW", 2}};
}
Status ValidSubGroup(const GemmShape&, const Params& params, const OpenClFacts& facts) {
  if (params.at("SUB_GROUP") <= facts.max_work_group_size) return OkStatus();
  return InvalidArgument("SUB_GROUP: expected at most {}, got {}", facts.max_work_group_size,
                         params.at("SUB_GROUP"));
}
GemmSetup SetUpSubGroups(const GemmShape& shape, const GemmForms&, const Params& params,
                         const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/sub_groups.cl", .function = "gemm_sub_groups"};
  for (const auto& [name, value] : params) setup.options.Define(name, value);
  if (!params.contains("EMULATED")) setup.options.Define("EMULATED", 0);
  const int64_t lanes = params.at("SUB_GROUP"), rows = params.at("TM");
  const int64_t groups = DivideUp(shape.n, lanes * params.at("VW"));
  setup.options.Define("ALIGNED", shape.n % params.at("VW") == 0 ? 1 : 0);
  setup.sizes = {
      .gws = {static_cast<size_t>(groups * lanes), static_cast<size_t>(DivideUp(shape.m, rows)), 1},
      .lws = {static_cast<size_t>(lanes), 1, 1}};
  return setup;
}

constexpr int64_t kLeastPart = 64;  // steps of k

Status CanSplit(const GemmShape& shape, const OpenClFacts& facts) {
  RETURN_IF_ERROR(OneProduct(shape));
  if (shape.k < 2 * kLeastPart)
    return Unsupported("k is {}: parts would have less than {} steps", shape.k, kLeastPart);
  if (StorageBytes(DType::kF32, 2 * shape.m * shape.n) <= facts.max_allocation_bytes)
    return OkStatus();
  return Unsupported("two partial products pass {} bytes", facts.max_allocation_bytes);
}
std::vector<Tunable> SplitTunables(const GemmShape& shape, const OpenClFacts& facts) {
  std::vector<Tunable> tunables = RegisterTunables(shape, facts);
  tunables.push_back({"PARTS", {2, 4, 8, 16, 32}});
  return tunables;
}
Status ValidSplit(const GemmShape& shape, const Params& params, const OpenClFacts& facts) {
  const int64_t parts = params.at("PARTS");
  if (shape.k < parts * kLeastPart)
    return InvalidArgument("PARTS: expected at most {}, got {}", shape.k / kLeastPart, parts);
  if (StorageBytes(DType::kF32, parts * shape.m * shape.n) > facts.max_allocation_bytes)
    return InvalidArgument("PARTS: the partial products pass {} bytes", facts.max_allocation_bytes);
  return ValidRegisters(shape, params, facts);
}
Params DefaultSplit(const GemmShape& shape, const OpenClFacts& facts) {
  Params params = DefaultRegisters(shape, facts);
  params["PARTS"] = 2;
  return params;
}
GemmSetup SetUpSplit(const GemmShape& shape, const GemmForms& forms, const Params& params,
                     const OpenClFacts& facts) {
  GemmSetup setup = SetUpRegisters(shape, forms, params, facts);
  setup.options.Define("SPLIT_K", 1);
  const int64_t step = DivideUp(shape.k, params.at("PARTS"));
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
std::vector<Tunable> BatchedTunables(const GemmShape&, const OpenClFacts&) {
  return {{"LANES", {1, 2, 4, 8, 16, 32, 64, 128, 256}}};
}
Params DefaultBatched(const GemmShape&, const OpenClFacts& facts) {
  return {{"LANES", facts.is_cpu ? 1 : std::min<int64_t>(64, facts.max_work_group_size)}};
}
GemmSetup SetUpBatched(const GemmShape& shape, const GemmForms&, const Params& params,
                       const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/batched.cl", .function = "gemm_batched"};
  const size_t lanes = params.at("LANES");
  setup.options.Define("LANES", params.at("LANES"));
  setup.options.Define("M", shape.m).Define("N", shape.n).Define("K", shape.k);
  setup.options.Define("ALIGNED", shape.n % 4 == 0 ? 1 : 0);
  setup.sizes = {.gws = {lanes, 1, static_cast<size_t>(shape.batch)}, .lws = {lanes, 1, 1}};
  setup.more = {MatrixMap(shape)};
  return setup;
}

}  // namespace

const GemmAlgorithm kGemmSubGroups = {kRowForms,     HasSubGroups,    SubGroupTunables,
                                      ValidSubGroup, DefaultSubGroup, SetUpSubGroups};
const GemmAlgorithm kGemmSplit = {kAsGivenForms, CanSplit,     SplitTunables,
                                  ValidSplit,    DefaultSplit, SetUpSplit};
const GemmAlgorithm kGemmBatched = {kRowForms,  FitsLocalMemory, BatchedTunables,
                                    ValidLanes, DefaultBatched,  SetUpBatched};

}  // namespace fettle::kernels
