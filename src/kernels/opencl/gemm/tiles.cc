#include "kernels/opencl/gemm/tiles.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

size_t Blocks(int64_t extent, int64_t block) {
  return static_cast<size_t>((extent + block - 1) / block);
}

int64_t PowerOfTwoUpTo(int64_t limit) {
  int64_t power = 1;
  while (power * 2 <= limit) power *= 2;
  return power;
}

/// Floats that one work-item may keep without spilling on any device of the kind.
int64_t RegisterBudget(const OpenClFacts& facts) { return facts.is_cpu ? 512 : 128; }

/// FAST_MATH, built with -cl-fast-relaxed-math: worth nothing on processors.
Tunable FastMathTunable(const OpenClFacts& facts) {
  std::vector<int64_t> values = {0};
  if (!facts.is_cpu) values.push_back(1);
  return {"FAST_MATH", std::move(values)};
}
bool WantsFastMath(const Params& params) {
  const auto found = params.find("FAST_MATH");
  return found != params.end() && found->second != 0;
}
/// What follows a sum may have to keep infinities and NaN.
Status ValidFastMath(const GemmShape& shape, const Params& params) {
  if (!WantsFastMath(params) || !shape.is_finished) return OkStatus();
  return InvalidArgument("FAST_MATH: expected 0 where more than the sum is computed");
}

Status Always(const GemmShape&, const OpenClFacts&) { return OkStatus(); }

}  // namespace

cl_int4 MatrixMap(const GemmShape& shape) {
  const auto count = [&](const GemmShape::Matrices& of) {
    return static_cast<cl_int>(of.matrices > 0 ? of.matrices : shape.batch);
  };
  cl_int4 map;
  map.s[0] = static_cast<cl_int>(shape.a.repeat);
  map.s[1] = count(shape.a);
  map.s[2] = static_cast<cl_int>(shape.b.repeat);
  map.s[3] = count(shape.b);
  return map;
}

bool RowsAligned(const GemmShape& shape, int64_t width, bool with_a) {
  const int64_t b_row = shape.trans_b ? shape.k : shape.n;
  const int64_t a_row = shape.trans_a ? shape.m : shape.k;
  return b_row % width == 0 && shape.n % width == 0 && (!with_a || a_row % width == 0);
}

std::vector<Tunable> WorkGroupTunables() {
  const std::vector<int64_t> sizes = {0, 1, 2, 4, 8, 16, 32, 64};
  return {{"LX", sizes}, {"LY", sizes}};
}

Status ValidWorkGroup(const Params& params, const OpenClFacts& facts) {
  const int64_t x = params.at("LX"), y = params.at("LY");
  if ((x == 0) != (y == 0)) return InvalidArgument("LX and LY: expected both or none to be 0");
  if (x * y > facts.max_work_group_size || x > facts.max_work_item_sizes[0] ||
      y > facts.max_work_item_sizes[1])
    return InvalidArgument("LX * LY: expected at most {}, got {}", facts.max_work_group_size,
                           x * y);
  return OkStatus();
}

std::array<size_t, 3> WorkGroupOf(const Params& params) {
  const size_t x = params.at("LX"), y = params.at("LY");
  return {x, y, x == 0 ? size_t{0} : size_t{1}};
}

std::vector<Tunable> RegisterTunables(const GemmShape&, const OpenClFacts& facts) {
  std::vector<Tunable> tunables = {{"TM", {1, 2, 3, 4, 6, 8, 12}},
                                   {"TN", {1, 2, 3, 4}},
                                   {"VW", {1, 2, 4, 8, 16}},
                                   {"K_UNROLL", {1, 2, 4}},
                                   {"ROWS_FIRST", {0, 1}}};
  for (Tunable& tunable : WorkGroupTunables()) tunables.push_back(std::move(tunable));
  tunables.push_back(FastMathTunable(facts));
  return tunables;
}

Status ValidRegisters(const GemmShape& shape, const Params& params, const OpenClFacts& facts) {
  const int64_t tile = params.at("TM") * params.at("TN") * params.at("VW");
  if (tile > RegisterBudget(facts))
    return InvalidArgument("TM * TN * VW: expected at most {}, got {}", RegisterBudget(facts),
                           tile);
  // More than what covers the matrix once computes nothing that is kept.
  if (params.at("VW") > 1 && params.at("VW") >= 2 * shape.n)
    return InvalidArgument("VW: the product has {} columns", shape.n);
  RETURN_IF_ERROR(ValidFastMath(shape, params));
  return ValidWorkGroup(params, facts);
}

Params DefaultRegisters(const GemmShape& shape, const OpenClFacts& facts) {
  // Processors: 24 of 32 vector registers of 16 lanes, one work-item a group, columns of B in
  // cache.
  const int64_t most = facts.is_cpu ? 16 : 4;
  const int64_t width = PowerOfTwoUpTo(std::clamp<int64_t>(shape.n, 1, most));
  const int64_t vectors = facts.is_cpu ? std::clamp<int64_t>(shape.n / width, 1, 4) : 1;
  const int64_t rows = std::clamp<int64_t>(shape.m, 1, facts.is_cpu ? 6 : 4);
  const bool tiny_group = facts.is_cpu || facts.max_work_group_size < 64;
  return {{"TM", rows == 5 ? 4 : rows},
          {"TN", vectors},
          {"VW", width},
          {"K_UNROLL", facts.is_cpu ? 1 : 4},
          {"ROWS_FIRST", facts.is_cpu ? 1 : 0},
          {"LX", tiny_group ? 1 : 16},
          {"LY", tiny_group ? 1 : 4},
          {"FAST_MATH", 0}};
}

GemmSetup SetUpRegisters(const GemmShape& shape, const GemmForms&, const Params& params,
                         const OpenClFacts& facts) {
  GemmSetup setup{.path = "gemm/registers.cl", .function = "gemm_registers"};
  for (const std::string_view name : {"TM", "TN", "VW", "K_UNROLL", "ROWS_FIRST"})
    setup.options.Define(name, params.find(name)->second);
  if (WantsFastMath(params)) setup.options.Add("-cl-fast-relaxed-math");
  const int64_t width = params.at("VW");
  setup.options.Define("ALIGNED", !facts.is_cpu && RowsAligned(shape, width, false) ? 1 : 0);
  setup.options.Define("TRANS_A", shape.trans_a ? 1 : 0).Define("TRANS_B", shape.trans_b ? 1 : 0);
  const size_t rows = Blocks(shape.m, params.at("TM"));
  const size_t columns = Blocks(shape.n, params.at("TN") * width);
  const bool rows_first = params.at("ROWS_FIRST") != 0;
  setup.sizes = {.gws = {rows_first ? rows : columns, rows_first ? columns : rows,
                         static_cast<size_t>(shape.batch)},
                 .lws = WorkGroupOf(params)};
  setup.more = {MatrixMap(shape)};
  return setup;
}

namespace {

std::vector<Tunable> LocalTunables(const GemmShape&, const OpenClFacts& facts) {
  return {{"MWG", {16, 32, 64, 128}},
          {"NWG", {16, 32, 64, 128}},
          {"KWG", {8, 16, 32}},
          {"TM", {4, 8}},
          {"TN", {4, 8}},
          {"BUFFERS", {1, 2}},
          FastMathTunable(facts)};
}

Status ValidLocal(const GemmShape& shape, const Params& params, const OpenClFacts& facts) {
  const int64_t mwg = params.at("MWG"), nwg = params.at("NWG"), kwg = params.at("KWG");
  const int64_t items = mwg / params.at("TM") * (nwg / params.at("TN"));
  if (items > facts.max_work_group_size)
    return InvalidArgument("MWG, NWG, TM, TN: expected at most {} work-items, got {}",
                           facts.max_work_group_size, items);
  if (mwg * kwg / 4 % items != 0 || nwg * kwg / 4 % items != 0)
    return InvalidArgument("KWG: {} work-items cannot share the tiles evenly", items);
  // Pitches of four more columns, as in local.cl.
  const int64_t bytes = params.at("BUFFERS") * kwg * (mwg + nwg + 8) * 4;
  if (bytes > facts.local_bytes)
    return InvalidArgument("tiles: expected at most {} bytes of local memory, got {}",
                           facts.local_bytes, bytes);
  return ValidFastMath(shape, params);
}

Params DefaultLocal(const GemmShape& shape, const OpenClFacts& facts) {
  const auto tile = [](int64_t size, int64_t item, int64_t buffers) {
    return Params{{"MWG", size}, {"NWG", size},        {"KWG", 16},     {"TM", item},
                  {"TN", item},  {"BUFFERS", buffers}, {"FAST_MATH", 0}};
  };
  const auto groups = [&](int64_t size) {
    return static_cast<int64_t>(Blocks(shape.m, size) * Blocks(shape.n, size)) * shape.batch;
  };
  if (facts.is_cpu) return tile(32, 4, 1);
  for (const Params& params : {tile(128, 8, 2), tile(64, 4, 2)})
    if (groups(params.at("MWG")) >= facts.compute_units && ValidLocal(shape, params, facts).ok())
      return params;
  return tile(32, 4, 1);
}

GemmSetup SetUpLocal(const GemmShape& shape, const GemmForms&, const Params& params,
                     const OpenClFacts& facts) {
  GemmSetup setup{.path = "gemm/local.cl", .function = "gemm_local"};
  for (const auto& [name, value] : params)
    if (name != "FAST_MATH") setup.options.Define(name, value);
  if (WantsFastMath(params)) setup.options.Add("-cl-fast-relaxed-math");
  const int64_t mwg = params.at("MWG"), nwg = params.at("NWG");
  const bool even =
      shape.k > 0 && shape.m % mwg == 0 && shape.n % nwg == 0 && shape.k % params.at("KWG") == 0;
  setup.options.Define("CHECKED", even ? 0 : 1);
  setup.options.Define("ALIGNED", !facts.is_cpu && RowsAligned(shape, 4, true) ? 1 : 0);
  setup.options.Define("TRANS_A", shape.trans_a ? 1 : 0).Define("TRANS_B", shape.trans_b ? 1 : 0);
  const size_t x = nwg / params.at("TN");
  const size_t y = mwg / params.at("TM");
  setup.sizes = {
      .gws = {Blocks(shape.n, nwg) * x, Blocks(shape.m, mwg) * y, static_cast<size_t>(shape.batch)},
      .lws = {x, y, 1}};
  setup.more = {MatrixMap(shape)};
  return setup;
}

}  // namespace

const GemmAlgorithm kGemmRegisters = {kAsGivenForms,  Always,           RegisterTunables,
                                      ValidRegisters, DefaultRegisters, SetUpRegisters};
const GemmAlgorithm kGemmLocal = {kAsGivenForms, Always,       LocalTunables,
                                  ValidLocal,    DefaultLocal, SetUpLocal};

}  // namespace fettle::kernels
