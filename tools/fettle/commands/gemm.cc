// fettle gemm: the matrix products from naive to packed, as a table.
#include "kernels/cpu/gemm/gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "commands/command.h"
#include "commands/gemm.h"
#include "device/cpu/cpu_device.h"
#include "io/inputs.h"
#include "kernels/cpu/gemm/microkernel.h"
#include "kernels/cpu/probe/fma.h"
#include "report/report.h"
#include "report/statistics.h"
#include "report/table.h"
#include "tensor/compare.h"

namespace fettle::tools {
namespace {

struct Matrices {
  Tensor a, b, c, want;
};

struct Row {
  std::string name, kernel;
  double ms = 0;
  bool verified = false;
};

/// One rung of the ladder.
struct Rung {
  std::string name, kernel;
  std::function<Status(const GemmOptions&, Matrices&)> run;
};

/// Three loops, inner products: what a textbook writes.
Status Naive(const GemmOptions& o, Matrices& m) {
  const auto a = m.a.as<float>(), b = m.b.as<float>(), c = m.c.as<float>();
  for (int64_t i = 0; i < o.m; ++i) {
    for (int64_t j = 0; j < o.n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < o.k; ++p)
        sum += a[static_cast<size_t>(i * o.k + p)] * b[static_cast<size_t>(p * o.n + j)];
      c[static_cast<size_t>(i * o.n + j)] = sum;
    }
  }
  return OkStatus();
}

/// The same with the loops so ordered that B and C are read along rows.
Status RowOrder(const GemmOptions& o, Matrices& m) {
  const float *a = m.a.as<float>().data(), *b = m.b.as<float>().data();
  float* c = m.c.as<float>().data();
  std::fill_n(c, o.m * o.n, 0.0f);
  for (int64_t i = 0; i < o.m; ++i) {
    for (int64_t p = 0; p < o.k; ++p) {
      const float left = a[i * o.k + p];
      for (int64_t j = 0; j < o.n; ++j) c[i * o.n + j] += left * b[p * o.n + j];
    }
  }
  return OkStatus();
}

/// Rows in order within blocks of B that stay in the first cache levels.
Status Blocked(const GemmOptions& o, Matrices& m) {
  constexpr int64_t kDepth = 64, kColumns = 256;
  const float *a = m.a.as<float>().data(), *b = m.b.as<float>().data();
  float* c = m.c.as<float>().data();
  std::fill_n(c, o.m * o.n, 0.0f);
  for (int64_t p0 = 0; p0 < o.k; p0 += kDepth) {
    for (int64_t j0 = 0; j0 < o.n; j0 += kColumns) {
      const int64_t p1 = std::min(p0 + kDepth, o.k), j1 = std::min(j0 + kColumns, o.n);
      for (int64_t i = 0; i < o.m; ++i) {
        for (int64_t p = p0; p < p1; ++p) {
          const float left = a[i * o.k + p];
          for (int64_t j = j0; j < j1; ++j) c[i * o.n + j] += left * b[p * o.n + j];
        }
      }
    }
  }
  return OkStatus();
}

Status Packed(const GemmOptions& o, Matrices& m, const CpuDevice& device, int threads) {
  CpuStream stream(device, threads);
  return kernels::Gemm({.m = o.m,
                        .n = o.n,
                        .k = o.k,
                        .a = m.a.as<float>().data(),
                        .lda = o.k,
                        .b = m.b.as<float>().data(),
                        .ldb = o.n,
                        .c = m.c.as<float>().data(),
                        .ldc = o.n},
                       device, stream);
}

Result<Matrices> MakeMatrices(const GemmOptions& o) {
  Matrices m;
  ASSIGN_OR_RETURN(m.a, SeedTensor("a", DType::kF32, {o.m, o.k}, false, o.common.seed));
  ASSIGN_OR_RETURN(m.b, SeedTensor("b", DType::kF32, {o.k, o.n}, false, o.common.seed));
  ASSIGN_OR_RETURN(m.c, Tensor::Create(DType::kF32, {o.m, o.n}));
  ASSIGN_OR_RETURN(m.want, Tensor::Create(DType::kF64, {o.m, o.n}));
  return m;
}

/// The oracle: every element accumulated in double.
void FillWanted(const GemmOptions& o, Matrices& m) {
  const float *a = m.a.as<float>().data(), *b = m.b.as<float>().data();
  double* want = m.want.as<double>().data();
  for (int64_t i = 0; i < o.m; ++i)
    for (int64_t p = 0; p < o.k; ++p)
      for (int64_t j = 0; j < o.n; ++j)
        want[i * o.n + j] += static_cast<double>(a[i * o.k + p]) * b[p * o.n + j];
}

Result<Row> Time(const Rung& rung, const GemmOptions& options, Matrices& matrices) {
  Row row{rung.name, rung.kernel};
  std::fill_n(matrices.c.as<float>().data(), matrices.c.elements(), 0.0f);
  RETURN_IF_ERROR(rung.run(options, matrices));
  const Tolerance tolerance =
      KernelTolerance(DType::kF32, options.k, static_cast<double>(options.k));
  row.verified = Compare(matrices.c.view(), matrices.want.view(), tolerance).ok();
  for (int i = 0; i < options.warmup; ++i) RETURN_IF_ERROR(rung.run(options, matrices));
  std::vector<double> times;
  for (int i = 0; i < options.iters; ++i) {
    const int64_t start = NowNs();
    RETURN_IF_ERROR(rung.run(options, matrices));
    times.push_back(static_cast<double>(NowNs() - start) * 1e-6);
  }
  row.ms = Summarise(times).median;
  return row;
}

void Print(const GemmOptions& options, const std::vector<Row>& rows, double peak,
           const std::vector<std::string>& warnings) {
  const double flops = 2e-6 * static_cast<double>(options.m) * static_cast<double>(options.n) *
                       static_cast<double>(options.k);
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"name"},
               {"kernel"},
               {"ms", kRight},
               {"GFLOP/s", kRight},
               {"factor", kRight},
               {"of peak", kRight},
               {"verified"}});
  Json json = Json::array();
  double before = rows.front().ms;
  for (const Row& row : rows) {
    const double gflops = flops / row.ms, factor = std::exchange(before, row.ms) / row.ms;
    table.Row({row.name, row.kernel, fmt::format("{:.3f}", row.ms), fmt::format("{:.1f}", gflops),
               fmt::format("{:.2f}x", factor),
               peak > 0 ? fmt::format("{:.1f} %", 100 * gflops / peak) : "",
               row.verified ? "yes" : "NO"});
    json.push_back({{"name", row.name},
                    {"kernel", row.kernel},
                    {"dtype", options.dtype},
                    {"ms", row.ms},
                    {"gflops", gflops},
                    {"factor", factor},
                    {"share_of_peak", peak > 0 ? Json(gflops / peak) : Json(nullptr)},
                    {"verified", row.verified}});
  }
  const int threads = ResolveThreads(options.common.threads);
  if (options.common.json) {
    PrintJson({{"m", options.m},
               {"n", options.n},
               {"k", options.k},
               {"peak_gflops", peak},
               {"rows", json},
               {"device", DeviceJson(threads)},
               {"precision", PrecisionJson(options.common)},
               {"warnings", warnings}});
    return;
  }
  fmt::print("{}x{}x{} {}\n\n{}\n", options.m, options.n, options.k, options.dtype,
             table.ToString());
  fmt::print("factor: over the rung before; peak {:.1f} GFLOP/s · {} · {}\n", peak,
             DeviceLine(threads), PrecisionLine(options.common));
}

/// The ceiling of `threads` lanes at once.
double PeakGflops(const CpuDevice& device, int threads) {
  std::vector<double> flops(static_cast<size_t>(threads));
  device.pool().ParallelFor(threads, threads, [&](int64_t task, int) {
    flops[static_cast<size_t>(task)] = kernels::ProbeFmaFlops();
  });
  return std::accumulate(flops.begin(), flops.end(), 0.0) * 1e-9;
}

int Gemm(const GemmOptions& options) {
  if (options.common.device.starts_with("opencl")) return GemmOnOpenCl(options);
  InstallLog(options.common.log);
  std::vector<std::string> warnings;
  const Status common = CheckCpuOptions(options.common, warnings);
  if (!common.ok()) return Fail(common);
  if (options.dtype != "f32")
    return Fail(Unsupported("gemm: --dtype {}: the CPU multiplies f32 only", options.dtype));
  if (options.batch != 1)
    return Fail(
        Unsupported("gemm: --batch {}: the CPU makes one product at a time", options.batch));
  PrintWarnings(warnings);
  const int threads = ResolveThreads(options.common.threads);
  const CpuDevice device(std::make_shared<ThreadPool>(threads));
  auto matrices = MakeMatrices(options);
  if (!matrices.ok()) return Fail(matrices.status());
  FillWanted(options, *matrices);
  std::vector<Rung> rungs;
  if (options.ladder) {
    rungs.push_back({"naive", "three loops, inner products", Naive});
    rungs.push_back({"row order", "three loops along rows", RowOrder});
    rungs.push_back({"blocked", "blocks that stay in cache", Blocked});
    if (threads > 1) {
      rungs.push_back({"packed, 1 thread", "register tiles on packed panels",
                       [&](const GemmOptions& o, Matrices& m) { return Packed(o, m, device, 1); }});
    }
  }
  rungs.push_back(
      {"packed", "register tiles on packed panels",
       [&](const GemmOptions& o, Matrices& m) { return Packed(o, m, device, threads); }});
  std::vector<Row> rows;
  for (const Rung& rung : rungs) {
    auto row = Time(rung, options, *matrices);
    if (!row.ok()) return Fail(row.status());
    rows.push_back(*row);
  }
  const double peak = PeakGflops(device, threads);
  Print(options, rows, peak, warnings);
  const bool verified =
      std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.verified; });
  return verified ? kExitOk : kExitDiffers;
}

}  // namespace

void RegisterGemm(CLI::App& app, Action& action) {
  auto options = std::make_shared<GemmOptions>();
  CLI::App* sub = app.add_subcommand("gemm", "the matrix product from naive to packed");
  sub->add_flag("--ladder", options->ladder, "every step from naive to packed");
  for (const auto& [name, value] : {std::pair<const char*, int64_t*>{"--m,-m", &options->m},
                                    {"--n,-n", &options->n},
                                    {"--k,-k", &options->k}})
    sub->add_option(name, *value, "extent")->check(CLI::Range(1, 16384));
  sub->add_option("--batch", options->batch, "OpenCL: products at once")
      ->check(CLI::Range(1, 1 << 20));
  sub->add_option("--dtype", options->dtype, "f32; OpenCL: f16 too")
      ->check(CLI::IsMember({"f32", "f16"}));
  sub->add_option("--evals", options->evals, "OpenCL: configurations of each search; 0: none (16)")
      ->check(CLI::Range(0, 100000));
  sub->add_option("--warmup", options->warmup, "products before")->check(CLI::Range(0, 100000));
  sub->add_option("--iters", options->iters, "timed products")->check(CLI::Range(1, 100000));
  AddCommonOptions(*sub, options->common);
  sub->callback([&action, options] { action = [options] { return Gemm(*options); }; });
}

}  // namespace fettle::tools
