#include "kernels/opencl/gemm/vectors.h"

#include <algorithm>

#include "kernels/opencl/gemm/tiles.h"

namespace fettle::kernels {

std::vector<Tunable> VectorTunables(const GemmShape&, const OpenClFacts&) {
  return {{"LANES", {1, 2, 4, 8, 16, 32, 64, 128, 256}}, {"VW", {1, 2, 4, 8, 16}}};
}
Status ValidLanes(const GemmShape&, const Params& params, const OpenClFacts& facts) {
  if (params.at("LANES") <= facts.max_work_group_size) return OkStatus();
  return InvalidArgument("LANES: expected at most {}, got {}", facts.max_work_group_size,
                         params.at("LANES"));
}
Params DefaultVector(const GemmShape&, const OpenClFacts& facts) {
  return {{"LANES", facts.is_cpu ? 1 : std::min<int64_t>(64, facts.max_work_group_size)},
          {"VW", facts.is_cpu ? 16 : 4}};
}
GemmSetup SetUpVector(const GemmShape& shape, const Params& params, VectorKind kind,
                      const OpenClFacts& facts) {
  const bool columns = kind == VectorKind::kRow;
  GemmSetup setup;
  for (const auto& [name, value] : params) setup.options.Define(name, value);
  const auto lanes = static_cast<size_t>(params.at("LANES"));
  const auto batch = static_cast<size_t>(shape.batch);
  const int64_t width = params.at("VW");
  const int64_t extent = kind == VectorKind::kColumn ? shape.m : shape.n;
  setup.options.Define("ALIGNED",
                       !facts.is_cpu && (columns ? shape.n : shape.k) % width == 0 ? 1 : 0);
  setup.extents = {static_cast<cl_int>(extent), static_cast<cl_int>(shape.k)};
  if (columns)
    setup.sizes = {.gws = {static_cast<size_t>((extent + width - 1) / width), lanes, batch},
                   .lws = {1, lanes, 1}};
  else
    setup.sizes = {.gws = {lanes, static_cast<size_t>(extent), batch}, .lws = {lanes, 1, 1}};
  if (kind == VectorKind::kRowOfTransposed) setup.options.Define("ONE_ROW", 1);
  setup.more = {MatrixMap(shape)};
  return setup;
}

}  // namespace fettle::kernels
