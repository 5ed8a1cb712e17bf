#include "kernels/opencl/gemm/vectors.h"

#include <algorithm>

#include "kernels/opencl/gemm/tiles.h"

namespace fettle::kernels {
namespace {

/// kColumn: n is 1 (vector_rows.cl on A and B). kRow: m is 1 (vector_columns.cl on A and B).
/// kRowOfTransposed: m is 1 and B is [n, k] (vector_rows.cl on B and A).
enum class VectorKind : uint8_t { kColumn, kRow, kRowOfTransposed };

/// From so many steps of k on a constant B is packed as [n, k]: the work-items that share a sum
/// then read neighbours, each of them some.
constexpr int64_t kLongSum = 256;

Result<VectorKind> VectorKindOf(const GemmShape& shape) {
  const bool by_columns = shape.trans_b || (shape.constant_b && shape.k >= kLongSum);
  if (shape.m == 1) return by_columns ? VectorKind::kRowOfTransposed : VectorKind::kRow;
  if (shape.n != 1)
    return Unsupported("m is {} and n is {}: a vector has one row or one column", shape.m, shape.n);
  if (shape.trans_a) return Unsupported("one column and a transposed left operand");
  return VectorKind::kColumn;
}
Status IsVector(const GemmShape& shape, const OpenClFacts&) { return VectorKindOf(shape).status(); }

/// Work-items that share a sum, or rows of B, the elements that each reads at a time, and how many
/// such reads it has on their way.
struct LaneTile {
  int64_t lanes = 1, vw = 1, k_unroll = 1;
};
constexpr Fields kFields("gemm/vector_rows.cl",
                         Field{"LANES", &LaneTile::lanes, kLaneCounts, "LANES"},
                         Field{"VW", &LaneTile::vw, {1, 2, 4, 8, 16}, "VW"},
                         Field{"K_UNROLL", &LaneTile::k_unroll, {1, 2, 4, 8}, "K_UNROLL"});

/// Elements that a work-item of a GPU reads at best with one instruction, of f16 along rows, and
/// items of a row of f16: an H200 takes 50 us over 205 MB, 61 by reads of four elements.
constexpr int64_t kGpuRead = 4, kGpuHalfRead = 8, kGpuHalfLanes = 128;

LaneTile UsualVector(const GemmShape& shape, const OpenClFacts& facts) {
  if (facts.is_cpu) return {.lanes = UsualLanes(facts), .vw = 16};
  const bool is_half = shape.storage == DType::kF16;
  const int64_t lanes = std::min(kGpuHalfLanes, facts.max_work_group_size);
  const bool along_rows = VectorKindOf(shape).value() != VectorKind::kRow;
  const bool is_wide = is_half && along_rows && shape.k % kGpuHalfRead == 0;
  return {.lanes = is_half ? lanes : UsualLanes(facts),
          .vw = is_wide ? kGpuHalfRead : kGpuRead,
          .k_unroll = 4};
}
Status CheckVector(const GemmShape&, const LaneTile& tile, const OpenClFacts& facts) {
  return CheckLanes(tile.lanes, facts);
}
GemmSetup SetUpVector(const GemmShape& shape, const GemmForms&, const LaneTile& tile,
                      const OpenClFacts& facts) {
  const VectorKind kind = VectorKindOf(shape).value();
  const bool columns = kind == VectorKind::kRow;
  GemmSetup setup{.path = columns ? "gemm/vector_columns.cl" : "gemm/vector_rows.cl",
                  .function = columns ? "gemm_vector_columns" : "gemm_vector_rows",
                  .swaps = kind == VectorKind::kRowOfTransposed,
                  .b_by_columns = kind == VectorKind::kRowOfTransposed};
  kFields.Define(tile, setup.options);
  const auto lanes = static_cast<size_t>(tile.lanes);
  const auto batch = static_cast<size_t>(shape.batch);
  const int64_t extent = kind == VectorKind::kColumn ? shape.m : shape.n;
  setup.options.Define("ALIGNED",
                       !facts.is_cpu && (columns ? shape.n : shape.k) % tile.vw == 0 ? 1 : 0);
  setup.extents = {static_cast<cl_int>(extent), static_cast<cl_int>(shape.k)};
  if (columns)
    setup.sizes = {.gws = {static_cast<size_t>(DivideUp(extent, tile.vw)), lanes, batch},
                   .lws = {1, lanes, 1}};
  else
    setup.sizes = {.gws = {lanes, static_cast<size_t>(extent), batch}, .lws = {lanes, 1, 1}};
  GemmShape order = shape;
  if (setup.swaps) {
    setup.options.Define("ONE_ROW", 1);
    std::swap(order.a, order.b);
  }
  setup.more = {MatrixMap(order)};
  return setup;
}

}  // namespace

int64_t UsualLanes(const OpenClFacts& facts) {
  return facts.is_cpu ? 1 : std::min<int64_t>(64, facts.max_work_group_size);
}
Status CheckLanes(int64_t lanes, const OpenClFacts& facts) {
  if (lanes <= facts.max_work_group_size) return OkStatus();
  return InvalidArgument("LANES: expected at most {}, got {}", facts.max_work_group_size, lanes);
}

const GemmAlgorithm kGemmVector =
    GemmOf<kFields, UsualVector, CheckVector, SetUpVector>(kAsGivenForms, IsVector);

}  // namespace fettle::kernels
