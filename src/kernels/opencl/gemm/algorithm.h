// The ways to make a matrix product on OpenCL devices: what each takes, what of it is searched, and
// how it is built and launched. Where they meet networks: kernels/opencl/matmul.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/fields.h"
#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {

/// C [m, n] = A [m, k] * B [k, n], `batch` of them one after another, none of the extents 0.
/// `storage` (f32, f16 or bf16) is that of all three; sums are f32.
struct GemmShape {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  DType storage = DType::kF32;
  bool trans_a = false, trans_b = false;  // A is given as [k, m], B as [n, k]
  /// Something other than the sum is stored: scaled, with an addend, or what element-wise operators
  /// make of it.
  bool is_finished = false;
  bool constant_b = false;  // B is packed, in the order and with the pitch that the setup wants
  /// Product i is of matrices (i / repeat) % matrices of an operand; 0 matrices: as many as
  /// `batch`.
  struct Matrices {
    int64_t repeat = 1, matrices = 0;
  } a, b;
};

/// How an algorithm takes a matrix, and leaves C.
enum class MatrixForm : uint8_t {
  kAsGiven,  // row-major in a buffer as the network has it, transposed or not
  kRows,     // row-major in a buffer
  kColumns,  // the same of the transposed matrix
  kImage     // pixel x of row y holds elements 4 x .. 4 x + 3 of matrix row y, zero behind the last
};

struct GemmForms {
  MatrixForm a = MatrixForm::kRows, b = MatrixForm::kRows, c = MatrixForm::kRows;
};

/// What an algorithm is built with and launched with, for one shape and one set of parameters.
struct GemmSetup {
  std::string_view path, function;  // of the program, below kernels/opencl
  BuildOptions options;
  WorkSizes sizes;
  /// Leading arguments; empty: m, n, k.
  std::vector<cl_int> extents;
  /// What follows the operands.
  std::vector<KernelArg> more;
  /// Over 0: the product is made in so many parts, f32 [parts, m, n], that gemm/split_sum.cl adds
  /// up.
  int64_t parts = 0;
  /// Over 0: groups of a tile add up their parts of it in so many bytes of workspace
  /// (gemm/warp_tiles.clh), which the program takes behind `more`, and the stream's tickets.
  int64_t shared_bytes = 0;
  /// The program takes B before A.
  bool swaps = false;
  /// A given operand, `matrices` of rows x columns, that is copied to the workspace before, `pitch`
  /// elements from row to row (matmul/pad_rows.cl); transposed: from column to column, of f32 alone
  /// (matmul/pad_columns.cl). 0 matrices: it is taken as it lies.
  struct Padding {
    int64_t matrices = 0, rows = 0, columns = 0, pitch = 0;
    bool transposes = false;
    int64_t elements() const { return matrices * (transposes ? columns : rows) * pitch; }
  } pad_a, pad_b;
  /// f32 is rounded to TF32 where it is copied or packed.
  bool rounds = false;
  /// Elements from row to row of a packed B; 0: they follow each other.
  int64_t b_pitch = 0;
  /// A packed B is [n, k] rather than [k, n].
  bool b_by_columns = false;
  /// A packed B is an image (MatrixForm::kImage), whose rows b_pitch makes of whole pixels.
  bool b_in_image = false;
};

/// Both types that floats are stored as.
inline constexpr DType kFloatStorages[] = {DType::kF32, DType::kF16};

/// Its functions may be called for shapes that `applies` accepts.
struct GemmAlgorithm {
  /// Best first.
  std::span<const GemmForms> forms;
  /// OK, or why it cannot make this product here (kUnsupported).
  Status (*applies)(const GemmShape&, const OpenClFacts&) = nullptr;
  /// Parameters that a search may set; LX and LY are the work-group, 0 leaves it to the driver.
  std::vector<Tunable> (*tunables)() = nullptr;
  Status (*valid)(const GemmShape&, const Params&, const OpenClFacts&) = nullptr;
  Params (*defaults)(const GemmShape&, const OpenClFacts&) = nullptr;
  GemmSetup (*setup)(const GemmShape&, const GemmForms&, const Params&,
                     const OpenClFacts&) = nullptr;
  /// KernelDesc::parameters.
  std::span<const ParamInfo> (*parameters)() = nullptr;
  /// What it takes matrices stored as.
  std::span<const DType> storages = kFloatStorages;
};

/// An algorithm whose parameters are a struct: its fields, its usual values (shape, facts), whether
/// values work (shape, values, facts), and the setup (shape, forms, values, facts).
template <const auto& kFields, auto kUsual, auto kCheck, auto kSetUp>
constexpr GemmAlgorithm GemmOf(std::span<const GemmForms> forms,
                               Status (*applies)(const GemmShape&, const OpenClFacts&)) {
  return {
      .forms = forms,
      .applies = applies,
      .tunables = [] { return kFields.Tunables(); },
      .valid = [](const GemmShape& shape, const Params& params,
                  const OpenClFacts& facts) { return kCheck(shape, kFields.Read(params), facts); },
      .defaults = [](const GemmShape& shape,
                     const OpenClFacts& facts) { return kFields.Write(kUsual(shape, facts)); },
      .setup =
          [](const GemmShape& shape, const GemmForms& taken, const Params& params,
             const OpenClFacts& facts) {
            return kSetUp(shape, taken, kFields.Read(params), facts);
          },
      .parameters = ParametersOf<kFields>};
}

/// One output for each work-item; 4 x 4 with A transposed; 4 x 4 with images; 8 x 4 with A
/// transposed and B an image, Qualcomm's recipe for Adreno (quads.cc).
extern const GemmAlgorithm kGemmNaive, kGemmColumns, kGemmImages, kGemmBufferImage;
/// Tiles in registers and in local memory (tiles.cc).
extern const GemmAlgorithm kGemmRegisters, kGemmLocal;
/// One row or one column (vectors.cc).
extern const GemmAlgorithm kGemmVector;
/// Broadcasts in a sub-group, parts of k side by side, long sums that a work-group shares, many
/// small products (shared.cc).
extern const GemmAlgorithm kGemmSubGroups, kGemmSplit, kGemmShared, kGemmBatched;

/// Instructions that multiply matrices of f16, of bf16, of f32 as TF32, and of f32 in two parts
/// (mma.cc).
extern const GemmAlgorithm kGemmMma, kGemmMmaBFloat, kGemmMmaTf32, kGemmMmaF32;

/// The forms of algorithms that read buffers: as they are given, and as rows.
inline constexpr GemmForms kAsGivenForms[] = {
    {MatrixForm::kAsGiven, MatrixForm::kAsGiven, MatrixForm::kRows}};
inline constexpr GemmForms kRowForms[] = {{}};

/// Refuses more than one product.
Status OneProduct(const GemmShape& shape);

}  // namespace fettle::kernels
