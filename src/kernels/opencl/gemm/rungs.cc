// The rungs. Work-group sizes and tiles of the last ones are searched; the others show one idea
// each.
#include <algorithm>

#include "kernels/opencl/gemm/rung.h"
#include "kernels/opencl/gemm/tiles.h"
#include "kernels/opencl/gemm/vectors.h"

namespace fettle::kernels {
namespace {

size_t Quads(int64_t extent) { return static_cast<size_t>((extent + 3) / 4); }

Status Always(const GemmShape&, const OpenClFacts&) { return OkStatus(); }
Status OneProduct(const GemmShape& shape, const OpenClFacts&) {
  if (shape.batch == 1) return OkStatus();
  return Unsupported("makes one product at a time, not {}", shape.batch);
}

Status FitsImage(const char* operand, int64_t rows, int64_t columns, const OpenClFacts& facts) {
  const auto width = static_cast<int64_t>(Quads(columns));
  if (width <= facts.image2d_max_width && rows <= facts.image2d_max_height) return OkStatus();
  return Unsupported("{} as an image is {}x{} pixels: the device has at most {}x{}", operand, width,
                     rows, facts.image2d_max_width, facts.image2d_max_height);
}

Status HasImages(const GemmShape& shape, const OpenClFacts& facts) {
  RETURN_IF_ERROR(OneProduct(shape, facts));
  if (!facts.images) return Unsupported("the device has no images");
  if (shape.storage == DType::kF16 && !facts.half_images)
    return Unsupported("the device has no images of f16");
  RETURN_IF_ERROR(FitsImage("A", shape.m, shape.k, facts));
  RETURN_IF_ERROR(FitsImage("B", shape.k, shape.n, facts));
  return FitsImage("C", shape.m, shape.n, facts);
}

std::vector<Tunable> GroupTunables(const GemmShape&, const OpenClFacts&) {
  return WorkGroupTunables();
}
Status ValidGroup(const GemmShape&, const Params& params, const OpenClFacts& facts) {
  return ValidWorkGroup(params, facts);
}
Params DriversGroup(const GemmShape&, const OpenClFacts&) { return {{"LX", 0}, {"LY", 0}}; }

GemmSetup SetUpNaive(const GemmShape& shape, const Params& params, const OpenClFacts&) {
  GemmSetup setup;
  setup.sizes = {.gws = {static_cast<size_t>(shape.n), static_cast<size_t>(shape.m), 1},
                 .lws = WorkGroupOf(params)};
  return setup;
}

/// `rows` rows of four columns for each work-item.
GemmSetup SetUpQuads(const GemmShape& shape, const Params& params, int64_t rows) {
  GemmSetup setup;
  setup.sizes = {.gws = {Quads(shape.n), static_cast<size_t>((shape.m + rows - 1) / rows), 1},
                 .lws = WorkGroupOf(params)};
  return setup;
}

GemmSetup SetUpColumns(const GemmShape& shape, const Params& params, const OpenClFacts&) {
  GemmSetup setup = SetUpQuads(shape, params, 4);
  setup.options.Define("ALIGNED", shape.n % 4 == 0 && shape.m % 4 == 0 ? 1 : 0);
  return setup;
}

template <int kA, int kB, int kC>
GemmSetup SetUpImages(const GemmShape& shape, const Params& params, const OpenClFacts&) {
  GemmSetup setup = SetUpQuads(shape, params, 4);
  setup.options.Define("A_IMAGE", kA).Define("B_IMAGE", kB).Define("C_IMAGE", kC);
  setup.options.Define("ALIGNED", RowsAligned(shape, 4, true) ? 1 : 0);
  return setup;
}

template <int kFma, int kUnroll>
GemmSetup SetUpBufferImage(const GemmShape& shape, const Params& params, const OpenClFacts&) {
  GemmSetup setup = SetUpQuads(shape, params, 8);
  setup.options.Define("FETTLE_FMA", kFma).Define("K_UNROLL", kUnroll);
  setup.options.Define("ALIGNED", shape.n % 4 == 0 && shape.m % 4 == 0 ? 1 : 0);
  return setup;
}

Params DriversRegisters(const GemmShape& shape, const OpenClFacts& facts) {
  Params params = DefaultRegisters(shape, facts);
  params["LX"] = params["LY"] = 0;
  return params;
}

Status HasSubGroups(const GemmShape& shape, const OpenClFacts& facts) {
  if (!facts.HasExtension("cl_khr_subgroups") && !facts.HasExtension("cl_intel_subgroups"))
    return Unsupported("the device has no sub-groups (cl_khr_subgroups)");
  return OneProduct(shape, facts);
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
GemmSetup SetUpSubGroups(const GemmShape& shape, const Params& params, const OpenClFacts&) {
  GemmSetup setup;
  for (const auto& [name, value] : params) setup.options.Define(name, value);
  if (!params.contains("EMULATED")) setup.options.Define("EMULATED", 0);
  const int64_t lanes = params.at("SUB_GROUP"), columns = lanes * params.at("VW");
  const int64_t rows = params.at("TM");
  setup.options.Define("ALIGNED", RowsAligned(shape, params.at("VW"), false) ? 1 : 0);
  setup.sizes = {.gws = {static_cast<size_t>((shape.n + columns - 1) / columns * lanes),
                         static_cast<size_t>((shape.m + rows - 1) / rows), 1},
                 .lws = {static_cast<size_t>(lanes), 1, 1}};
  return setup;
}

constexpr int64_t kLeastPart = 64;  // steps of k

Status CanSplit(const GemmShape& shape, const OpenClFacts& facts) {
  RETURN_IF_ERROR(OneProduct(shape, facts));
  if (shape.k >= 2 * kLeastPart) return OkStatus();
  return Unsupported("k is {}: parts would have less than {} steps", shape.k, kLeastPart);
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
  if (parts * shape.m * shape.n * 4 > facts.max_allocation_bytes)
    return InvalidArgument("PARTS: the partial products pass {} bytes", facts.max_allocation_bytes);
  return ValidRegisters(shape, params, facts);
}
Params DefaultSplit(const GemmShape& shape, const OpenClFacts& facts) {
  Params params = DefaultRegisters(shape, facts);
  params["PARTS"] = 2;
  return params;
}
GemmSetup SetUpSplit(const GemmShape& shape, const Params& params, const OpenClFacts& facts) {
  GemmSetup setup = SetUpRegisters(shape, params, facts);
  setup.options.Define("SPLIT_K", 1);
  const int64_t step = (shape.k + params.at("PARTS") - 1) / params.at("PARTS");
  setup.parts = (shape.k + step - 1) / step;
  setup.sizes.gws[2] = static_cast<size_t>(setup.parts);
  setup.more.emplace_back(static_cast<cl_int>(step));
  return setup;
}

Status OneColumn(const GemmShape& shape, const OpenClFacts&) {
  return shape.n == 1 ? OkStatus() : Unsupported("n is {}: a vector has one column", shape.n);
}
Status OneRow(const GemmShape& shape, const OpenClFacts&) {
  return shape.m == 1 ? OkStatus() : Unsupported("m is {}: a vector has one row", shape.m);
}
GemmSetup SetUpVectorRows(const GemmShape& shape, const Params& params, const OpenClFacts& facts) {
  return SetUpVector(shape, params, VectorKind::kColumn, facts);
}
GemmSetup SetUpVectorColumns(const GemmShape& shape, const Params& params,
                             const OpenClFacts& facts) {
  return SetUpVector(shape, params, VectorKind::kRow, facts);
}

Status FitsLocalMemory(const GemmShape& shape, const OpenClFacts& facts) {
  const int64_t bytes = shape.k * (shape.m + static_cast<int64_t>(Quads(shape.n)) * 4) * 4;
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
GemmSetup SetUpBatched(const GemmShape& shape, const Params& params, const OpenClFacts&) {
  GemmSetup setup;
  const auto lanes = static_cast<size_t>(params.at("LANES"));
  setup.options.Define("LANES", params.at("LANES"));
  setup.options.Define("M", shape.m).Define("N", shape.n).Define("K", shape.k);
  setup.options.Define("ALIGNED", shape.n % 4 == 0 ? 1 : 0);
  setup.sizes = {.gws = {lanes, 1, static_cast<size_t>(shape.batch)}, .lws = {lanes, 1, 1}};
  return setup;
}

/// What may be searched of a rung: GemmRung::tunables, valid and defaults.
struct Space {
  decltype(GemmRung::tunables) tunables;
  decltype(GemmRung::valid) valid;
  decltype(GemmRung::defaults) defaults;
};
constexpr Space kWorkGroup{GroupTunables, ValidGroup, DriversGroup};
constexpr Space kLocalTiles{LocalTunables, ValidLocal, DefaultLocal};
constexpr Space kDriversRegisters{RegisterTunables, ValidRegisters, DriversRegisters};
constexpr Space kRegisters{RegisterTunables, ValidRegisters, DefaultRegisters};
constexpr Space kSubGroup{SubGroupTunables, ValidSubGroup, DefaultSubGroup};
constexpr Space kSplit{SplitTunables, ValidSplit, DefaultSplit};
constexpr Space kVector{VectorTunables, ValidLanes, DefaultVector};
constexpr Space kBatched{BatchedTunables, ValidLanes, DefaultBatched};

/// The source, and the function in it.
struct Program {
  std::string_view path, function;
};
constexpr Program kImages{"gemm/images.cl", "gemm_images"};
constexpr Program kBufferImage{"gemm/buffer_image.cl", "gemm_buffer_image"};
constexpr Program kRegisterTiles{"gemm/registers.cl", "gemm_registers"};

using enum MatrixForm;
constexpr GemmForms kRowsOnly;

constexpr GemmRung Rung(std::string_view name, std::string_view kernel, const Program& program,
                        const GemmForms& forms, decltype(GemmRung::applies) applies,
                        const Space& space, decltype(GemmRung::setup) setup) {
  return {name,    kernel,         program.path, program.function, forms,
          applies, space.tunables, space.valid,  space.defaults,   setup};
}

constexpr GemmRung kRungs[] = {
    Rung("naive", "opencl.gemm.naive", {"gemm/naive.cl", "gemm_naive"}, kRowsOnly, OneProduct,
         kWorkGroup, SetUpNaive),
    Rung("4x4, A transposed, vectors", "opencl.gemm.columns", {"gemm/columns.cl", "gemm_columns"},
         {.a = kTransposed}, OneProduct, kWorkGroup, SetUpColumns),
    Rung("4x4, A and B images", "opencl.gemm.images", kImages, {.a = kImage, .b = kImage},
         HasImages, kWorkGroup, SetUpImages<1, 1, 0>),
    Rung("4x4, A image, B buffer", "opencl.gemm.image_buffer", kImages, {.a = kImage}, HasImages,
         kWorkGroup, SetUpImages<1, 0, 0>),
    Rung("4x4, C image too", "opencl.gemm.image_result", kImages,
         {.a = kImage, .b = kImage, .c = kImage}, HasImages, kWorkGroup, SetUpImages<1, 1, 1>),
    Rung("8x4, A buffer, B image", "opencl.gemm.buffer_image", kBufferImage,
         {.a = kTransposed, .b = kImage}, HasImages, kWorkGroup, SetUpBufferImage<1, 1>),
    Rung("8x4, mul-add for fma", "opencl.gemm.buffer_image.mad", kBufferImage,
         {.a = kTransposed, .b = kImage}, HasImages, kWorkGroup, SetUpBufferImage<0, 1>),
    Rung("8x4, K unrolled by 2", "opencl.gemm.buffer_image.k2", kBufferImage,
         {.a = kTransposed, .b = kImage}, HasImages, kWorkGroup, SetUpBufferImage<1, 2>),
    Rung("tiles in local memory", "opencl.gemm.local", {"gemm/local.cl", "gemm_local"}, kRowsOnly,
         Always, kLocalTiles, SetUpLocal),
    Rung("tiles in registers", "opencl.gemm.registers.driver", kRegisterTiles, kRowsOnly, Always,
         kDriversRegisters, SetUpRegisters),
    Rung("the same, our work-group", "opencl.gemm.registers", kRegisterTiles, kRowsOnly, Always,
         kRegisters, SetUpRegisters),
    Rung("sub-group broadcast", "opencl.gemm.sub_groups", {"gemm/sub_groups.cl", "gemm_sub_groups"},
         kRowsOnly, HasSubGroups, kSubGroup, SetUpSubGroups),
    Rung("split along K", "opencl.gemm.split_k", kRegisterTiles, kRowsOnly, CanSplit, kSplit,
         SetUpSplit),
    Rung("matrix times vector", "opencl.gemm.vector_rows",
         {"gemm/vector_rows.cl", "gemm_vector_rows"}, kRowsOnly, OneColumn, kVector,
         SetUpVectorRows),
    Rung("vector times matrix", "opencl.gemm.vector_columns",
         {"gemm/vector_columns.cl", "gemm_vector_columns"}, kRowsOnly, OneRow, kVector,
         SetUpVectorColumns),
    Rung("small products", "opencl.gemm.batched", {"gemm/batched.cl", "gemm_batched"}, kRowsOnly,
         FitsLocalMemory, kBatched, SetUpBatched),
};

}  // namespace

std::span<const GemmRung> GemmRungs() { return kRungs; }

const GemmRung* FindGemmRung(std::string_view kernel) {
  const auto found = std::find_if(std::begin(kRungs), std::end(kRungs),
                                  [&](const GemmRung& rung) { return rung.kernel == kernel; });
  return found == std::end(kRungs) ? nullptr : &*found;
}

}  // namespace fettle::kernels
