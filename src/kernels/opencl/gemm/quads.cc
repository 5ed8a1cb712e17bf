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

/// A packed B in whole pixels.
void PackInImage(const GemmShape& shape, GemmSetup& setup) {
  setup.b_in_image = true;
  setup.b_pitch = DivideUp(shape.n, 4) * 4;
}

/// The work-group alone: usually the driver's.
struct Group {
  int64_t lx = 0, ly = 0;
};
constexpr Fields kGroupFields("", Field{"LX", &Group::lx, kGemmGroup},
                              Field{"LY", &Group::ly, kGemmGroup});

/// And where a constant B lies; any other is where its state says.
struct ImagesTile {
  int64_t b_image = 1, lx = 0, ly = 0;
};
constexpr Fields kImagesFields("gemm/images.cl", Field{"LX", &ImagesTile::lx, kGemmGroup},
                               Field{"LY", &ImagesTile::ly, kGemmGroup},
                               Field{"B_IMAGE", &ImagesTile::b_image, {1, 0}, "B_IMAGE"});

/// And the form of the program of buffer_image.cl.
struct BufferImageTile {
  int64_t fma = 1, k_unroll = 1, lx = 0, ly = 0;
};
constexpr Fields kBufferImageFields(
    "gemm/buffer_image.cl", Field{"FMA", &BufferImageTile::fma, {0, 1}, "FETTLE_FMA"},
    Field{"K_UNROLL", &BufferImageTile::k_unroll, {1, 2, 4}, "K_UNROLL"},
    Field{"LX", &BufferImageTile::lx, kGemmGroup}, Field{"LY", &BufferImageTile::ly, kGemmGroup});

template <typename Tile>
Tile AsDeclared(const GemmShape&, const OpenClFacts&) {
  return {};
}
template <typename Tile>
Status CheckTile(const GemmShape&, const Tile& tile, const OpenClFacts& facts) {
  return CheckGemmGroup(tile.lx, tile.ly, facts);
}
Status CheckImages(const GemmShape& shape, const ImagesTile& tile, const OpenClFacts& facts) {
  if (tile.b_image == 0 && !shape.constant_b)
    return Unsupported("b_image: expected 1 where B is not constant");
  return CheckGemmGroup(tile.lx, tile.ly, facts);
}

GemmSetup SetUpNaive(const GemmShape& shape, const GemmForms&, const Group& group,
                     const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/naive.cl", .function = "gemm_naive"};
  setup.sizes = {.gws = {static_cast<size_t>(shape.n), static_cast<size_t>(shape.m), 1},
                 .lws = GemmGroup(group.lx, group.ly)};
  return setup;
}

/// `rows` rows of four columns for each work-item.
template <typename Tile>
WorkSizes QuadSizes(const GemmShape& shape, const Tile& tile, int64_t rows) {
  return {.gws = {Blocks(shape.n, 4), Blocks(shape.m, rows), 1},
          .lws = GemmGroup(tile.lx, tile.ly)};
}

/// Whether rows of both the transposed A and B, and of C, begin at multiples of four elements.
int ColumnsAligned(const GemmShape& shape) { return shape.n % 4 == 0 && shape.m % 4 == 0 ? 1 : 0; }

GemmSetup SetUpColumns(const GemmShape& shape, const GemmForms&, const Group& group,
                       const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/columns.cl", .function = "gemm_columns"};
  setup.sizes = QuadSizes(shape, group, 4);
  setup.options.Define("ALIGNED", ColumnsAligned(shape));
  return setup;
}

GemmSetup SetUpImages(const GemmShape& shape, const GemmForms& forms, const ImagesTile& tile,
                      const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/images.cl", .function = "gemm_images"};
  setup.sizes = QuadSizes(shape, tile, 4);
  const bool b_image = forms.b == kImage && tile.b_image != 0;
  if (b_image && shape.constant_b) PackInImage(shape, setup);
  setup.options.Define("B_IMAGE", b_image ? 1 : 0);
  setup.options.Define("C_IMAGE", forms.c == kImage ? 1 : 0);
  setup.options.Define("ALIGNED", shape.n % 4 == 0 ? 1 : 0);
  return setup;
}

GemmSetup SetUpBufferImage(const GemmShape& shape, const GemmForms&, const BufferImageTile& tile,
                           const OpenClFacts&) {
  GemmSetup setup{.path = "gemm/buffer_image.cl", .function = "gemm_buffer_image"};
  setup.sizes = QuadSizes(shape, tile, 8);
  if (shape.constant_b) PackInImage(shape, setup);
  kBufferImageFields.Define(tile, setup.options);
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

const GemmAlgorithm kGemmNaive =
    GemmOf<kGroupFields, AsDeclared<Group>, CheckTile<Group>, SetUpNaive>(kRowForms, One);
const GemmAlgorithm kGemmColumns =
    GemmOf<kGroupFields, AsDeclared<Group>, CheckTile<Group>, SetUpColumns>(kColumnForms, One);
const GemmAlgorithm kGemmImages =
    GemmOf<kImagesFields, AsDeclared<ImagesTile>, CheckImages, SetUpImages>(kImageForms, HasImages);
const GemmAlgorithm kGemmBufferImage =
    GemmOf<kBufferImageFields, AsDeclared<BufferImageTile>, CheckTile<BufferImageTile>,
           SetUpBufferImage>(kBufferImageForms, HasImages);

}  // namespace fettle::kernels
