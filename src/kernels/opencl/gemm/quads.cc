// The first steps from one output for each work-item to what suits GPUs of phones. Their work-group
// is searched, everything else shows one idea each.
#include "kernels/opencl/gemm/algorithm.h"
#include "kernels/opencl/gemm/tiles.h"

namespace fettle::kernels {
namespace {

using enum MatrixForm;

size_t Blocks(int64_t extent, int64_t block) {
  return static_cast<size_t>(DivideUp(extent, block));
}

Status One(const GemmShape& shape, const OpenClFacts&) { return OneProduct(shape); }

Status HasImages(const GemmShape& shape, const OpenClFacts& facts) {
  RETURN_IF_ERROR(OneProduct(shape));
  if (!facts.images) return Unsupported("the device has no images");
  if (shape.m * shape.n * shape.k == 0) return Unsupported("an empty matrix has no image");
  return OkStatus();
}

std::vector<Tunable> GroupTunables(const GemmShape&, const OpenClFacts&) {
  return WorkGroupTunables();
}
Status ValidGroup(const GemmShape&, const Params& params, const OpenClFacts& facts) {
  return ValidWorkGroup(params, facts);
}
Params DriversGroup(const GemmShape&, const OpenClFacts&) { return {{"LX", 0}, {"LY", 0}}; }

GemmSetup SetUpNaive(const GemmShape& shape, const GemmForms&, const Params& params,
                     const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/naive.cl", .function = "gemm_naive"};
  setup.sizes = {.gws = {static_cast<size_t>(shape.n), static_cast<size_t>(shape.m), 1},
                 .lws = WorkGroupOf(params)};
  return setup;
}

/// `rows` rows of four columns for each work-item.
WorkSizes QuadSizes(const GemmShape& shape, const Params& params, int64_t rows) {
  return {.gws = {Blocks(shape.n, 4), Blocks(shape.m, rows), 1}, .lws = WorkGroupOf(params)};
}

/// Whether rows of both the transposed A and B, and of C, begin at multiples of four elements.
int ColumnsAligned(const GemmShape& shape) { return shape.n % 4 == 0 && shape.m % 4 == 0 ? 1 : 0; }

GemmSetup SetUpColumns(const GemmShape& shape, const GemmForms&, const Params& params,
                       const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/columns.cl", .function = "gemm_columns"};
  setup.sizes = QuadSizes(shape, params, 4);
  setup.options.Define("ALIGNED", ColumnsAligned(shape));
  return setup;
}

GemmSetup SetUpImages(const GemmShape& shape, const GemmForms& forms, const Params& params,
                      const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/images.cl", .function = "gemm_images"};
  setup.sizes = QuadSizes(shape, params, 4);
  setup.options.Define("B_IMAGE", forms.b == kImage ? 1 : 0);
  setup.options.Define("C_IMAGE", forms.c == kImage ? 1 : 0);
  setup.options.Define("ALIGNED", shape.n % 4 == 0 ? 1 : 0);
  return setup;
}

std::vector<Tunable> BufferImageTunables(const GemmShape&, const OpenClFacts&) {
  std::vector<Tunable> tunables = {{"FMA", {0, 1}}, {"K_UNROLL", {1, 2, 4}}};
  for (Tunable& tunable : WorkGroupTunables()) tunables.push_back(std::move(tunable));
  return tunables;
}
Params DefaultBufferImage(const GemmShape&, const OpenClFacts&) {
  return {{"FMA", 1}, {"K_UNROLL", 1}, {"LX", 0}, {"LY", 0}};
}
GemmSetup SetUpBufferImage(const GemmShape& shape, const GemmForms&, const Params& params,
                           const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/buffer_image.cl", .function = "gemm_buffer_image"};
  setup.sizes = QuadSizes(shape, params, 8);
  setup.options.Define("FETTLE_FMA", params.at("FMA")).Define("K_UNROLL", params.at("K_UNROLL"));
  setup.options.Define("ALIGNED", ColumnsAligned(shape));
  return setup;
}

constexpr GemmForms kColumnForms[] = {{.a = kColumns}};
constexpr GemmForms kImageForms[] = {
    {.a = kImage, .b = kImage}, {.a = kImage}, {.a = kImage, .b = kImage, .c = kImage}};
constexpr GemmForms kBufferImageForms[] = {{.a = kColumns, .b = kImage}};

}  // namespace

Status OneProduct(const GemmShape& shape) {
  if (shape.batch == 1) return OkStatus();
  return Unsupported("makes one product at a time, not {}", shape.batch);
}

const GemmAlgorithm kGemmNaive = {kRowForms,  One,          GroupTunables,
                                  ValidGroup, DriversGroup, SetUpNaive};
const GemmAlgorithm kGemmColumns = {kColumnForms, One,          GroupTunables,
                                    ValidGroup,   DriversGroup, SetUpColumns};
const GemmAlgorithm kGemmImages = {kImageForms, HasImages,    GroupTunables,
                                   ValidGroup,  DriversGroup, SetUpImages};
const GemmAlgorithm kGemmBufferImage = {kBufferImageForms, HasImages,          BufferImageTunables,
                                        ValidGroup,        DefaultBufferImage, SetUpBufferImage};

}  // namespace fettle::kernels
