// The ladder of matrix products: kernels that each know one thing more than the one before.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {

/// C [m, n] = A [m, k] * B [k, n], `batch` of them one after another, none of the extents 0.
/// `storage` (f32 or f16) is that of all three; sums are f32.
struct GemmShape {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  DType storage = DType::kF32;
  bool trans_a = false, trans_b = false;  // A is [k, m], B is [n, k]
  /// Product i is of matrices (i / repeat) % matrices of an operand; 0 matrices: as many as
  /// `batch`.
  struct Matrices {
    int64_t repeat = 1, matrices = 0;
  } a, b;
};

/// How a rung takes an operand. kImage: pixel x of row y holds elements 4 x .. 4 x + 3 of matrix
/// row y, zero behind the last.
enum class MatrixForm : uint8_t { kRows, kTransposed, kImage };

struct GemmForms {
  MatrixForm a = MatrixForm::kRows, b = MatrixForm::kRows, c = MatrixForm::kRows;
};

/// What a rung is built with and launched with, for one shape and one set of parameters.
struct GemmSetup {
  BuildOptions options;
  WorkSizes sizes;
  /// Leading arguments; empty: m, n, k.
  std::vector<cl_int> extents;
  /// What follows the operands.
  std::vector<KernelArg> more;
  /// Over 0: the product is made in so many parts that are added up after.
  int64_t parts = 0;
};

struct GemmRung {
  std::string_view name;      // what is new about it, for people
  std::string_view kernel;    // "opencl.gemm.naive"; stable
  std::string_view source;    // below kernels/opencl
  std::string_view function;  // in it
  GemmForms forms;
  /// OK, or why the rung cannot make this product here (kUnsupported).
  Status (*applies)(const GemmShape&, const OpenClFacts&) = nullptr;
  /// Parameters that a search may set; LX and LY are the work-group, 0 leaves it to the driver.
  std::vector<Tunable> (*tunables)(const GemmShape&, const OpenClFacts&) = nullptr;
  Status (*valid)(const GemmShape&, const Params&, const OpenClFacts&) = nullptr;
  Params (*defaults)(const GemmShape&, const OpenClFacts&) = nullptr;
  GemmSetup (*setup)(const GemmShape&, const Params&, const OpenClFacts&) = nullptr;
};

/// In the order in which they are shown.
std::span<const GemmRung> GemmRungs();
/// Null where there is none of that name.
const GemmRung* FindGemmRung(std::string_view kernel);

/// A rung made ready. Immutable; enqueues like any kernel.
class GemmLauncher {
 public:
  /// `params` are valid ones of a rung that applies; `relaxed_math` builds with
  /// -cl-fast-relaxed-math.
  static Result<std::unique_ptr<GemmLauncher>> Create(const GemmRung& rung, const GemmShape& shape,
                                                      const Params& params,
                                                      const OpenClDevice& device,
                                                      bool relaxed_math = false);
  /// Device memory that Launch wants beside the operands.
  int64_t workspace_bytes() const { return workspace_bytes_; }
  Status Launch(OpenClStream& stream, const Location& a, const Location& b, const Location& c,
                const Location& workspace) const;

 private:
  GemmLauncher() = default;

  GemmShape shape_;
  GemmSetup setup_;
  std::shared_ptr<OpenClKernel> kernel_, sum_;
  int64_t workspace_bytes_ = 0;
};

}  // namespace fettle::kernels
