#include "kernels/opencl/gemm/vectors.h"

#include <algorithm>

#include "kernels/opencl/gemm/tiles.h"

namespace fettle::kernels {
namespace {

/// kColumn: n is 1 (vector_rows.cl on A and B). kRow: m is 1 (vector_columns.cl on A and B).
/// kRowOfTransposed: m is 1 and B is [n, k] (vector_rows.cl on B and A).
enum class VectorKind : uint8_t { kColumn, kRow, kRowOfTransposed };

Result<VectorKind> VectorKindOf(const GemmShape& shape) {
  if (shape.m == 1) return shape.trans_b ? VectorKind::kRowOfTransposed : VectorKind::kRow;
  if (shape.n != 1)
    return Unsupported("m is {} and n is {}: a vector has one row or one column", shape.m, shape.n);
  if (shape.trans_a) return Unsupported("one column and a transposed left operand");
  return VectorKind::kColumn;
}
Status IsVector(const GemmShape& shape, const OpenClFacts&) { return VectorKindOf(shape).status(); }

std::vector<Tunable> VectorTunables(const GemmShape&, const OpenClFacts&) {
  return {{"LANES", {1, 2, 4, 8, 16, 32, 64, 128, 256}}, {"VW", {1, 2, 4, 8, 16}}};
}
Params DefaultVector(const GemmShape&, const OpenClFacts& facts) {
  return {{"LANES", facts.is_cpu ? 1 : std::min<int64_t>(64, facts.max_work_group_size)},
          {"VW", facts.is_cpu ? 16 : 4}};
}
GemmSetup SetUpVector(const GemmShape& shape, const GemmForms&, const Params& params,
                      const OpenClFacts& facts) {
  const VectorKind kind = VectorKindOf(shape).value();
  const bool columns = kind == VectorKind::kRow;
  GemmSetup setup{.path = columns ? "gemm/vector_columns.cl" : "gemm/vector_rows.cl",
                  .function = columns ? "gemm_vector_columns" : "gemm_vector_rows",
                  .swaps = kind == VectorKind::kRowOfTransposed};
  for (const auto& [name, value] : params) setup.options.Define(name, value);
  const size_t lanes = params.at("LANES");
  const size_t batch = shape.batch;
  const int64_t width = params.at("VW");
  const int64_t extent = kind == VectorKind::kColumn ? shape.m : shape.n;
  setup.options.Define("ALIGNED",
                       !facts.is_cpu && (columns ? shape.n : shape.k) % width == 0 ? 1 : 0);
  setup.extents = {static_cast<cl_int>(extent), static_cast<cl_int>(shape.k)};
  if (columns)
    setup.sizes = {.gws = {static_cast<size_t>(DivideUp(extent, width)), lanes, batch},
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

Status ValidLanes(const GemmShape&, const Params& params, const OpenClFacts& facts) {
  if (params.at("LANES") <= facts.max_work_group_size) return OkStatus();
  return InvalidArgument("LANES: expected at most {}, got {}", facts.max_work_group_size,
                         params.at("LANES"));
}

const GemmAlgorithm kGemmVector = {kAsGivenForms, IsVector,      VectorTunables,
                                   ValidLanes,    DefaultVector, SetUpVector};

}  // namespace fettle::kernels
