// fettle gemm: one matrix product in the ways that a device has, as a table.
#include <fmt/format.h>

#include <algorithm>

#include "commands/command.h"
#include "io/inputs.h"
#include "jobs/accelerator.h"
#include "jobs/exit_code.h"
#include "jobs/interrupt.h"
#include "jobs/product_table.h"
#include "jobs/tuning.h"
#include "options/checks.h"
#include "report/messages.h"
#include "report/product_report.h"

namespace fettle::tools {
namespace {

/// --dtype: what A, B and C are.
void SetTypes(const std::string& dtype, runtime::ProductProblem& problem) {
  const bool is_float = dtype == "f32" || dtype == "f16" || dtype == "bf16";
  problem.a = *DTypeFromName(dtype);
  problem.b = is_float ? problem.a : DType::kI8;
  problem.c = is_float ? problem.a : DType::kI32;
}

Shape StoredShape(int64_t batch, bool transposed, int64_t rows, int64_t columns) {
  Shape shape = transposed ? Shape{columns, rows} : Shape{rows, columns};
  return batch > 1 ? Shape{batch, shape[0], shape[1]} : shape;
}

Result<GemmJob> MakeJob(const GemmOptions& options, std::vector<std::string>& warnings) {
  const CommonOptions& common = options.common;
  // Times of another device than the one that was named would say nothing. What it cannot compute
  // at, a precision that is wished for, is another matter.
  CommonOptions named = common;
  named.strict_device |= common.device != "auto" && common.device != "cpu";
  if (named.strict_device) RETURN_IF_ERROR(OpenAccelerator(named, warnings).status());
  ASSIGN_OR_RETURN(const runtime::SessionOptions session, MakeSessionOptions(common, warnings));
  const runtime::ProductProblem& p = options.problem;
  const int threads = ResolveThreads(common.threads);
  const uint64_t seed = common.seed;
  ASSIGN_OR_RETURN(Tensor a,
                   SeedTensor("a", p.a, StoredShape(p.batch, p.trans_a, p.m, p.k), false, seed));
  ASSIGN_OR_RETURN(Tensor b,
                   SeedTensor("b", p.b, StoredShape(p.batch, p.trans_b, p.k, p.n), false, seed));
  return GemmJob{options,
                 threads,
                 session.precision,
                 session.accelerators.empty() ? nullptr : session.accelerators[0],
                 CpuDevice(std::make_shared<ThreadPool>(threads)),
                 StoreFor(common),
                 std::move(a),
                 std::move(b)};
}

Result<ExitCode> RunGemm(const GemmOptions& options) {
  std::vector<std::string> warnings;
  ASSIGN_OR_RETURN(const GemmJob job, MakeJob(options, warnings));
  PrintWarnings(warnings);
  const runtime::ProductStrides& strides = options.strides;
  const bool has_strides = strides.lda + strides.ldb + strides.ldc > 0;
  auto lines = ListProductLines(
      options.problem, std::make_shared<const Constant>(Constant::FromTensor(job.b)), job.devices(),
      {.threads = job.threads, .precision = job.precision, .ladder = options.ladder});
  // What no single kernel makes can still be called.
  if (!lines.ok() && options.ladder) return lines.status();
  const InterruptScope interrupt([] {});
  ProductTable table(job);
  if (lines.ok()) table.AddLines(std::move(*lines));
  if (!InterruptScope::Interrupted()) table.AddTuned();
  if ((!options.ladder || has_strides) && !InterruptScope::Interrupted())
    if (const Status called = table.AddCall(); !called.ok() && !InterruptScope::Interrupted())
      return called;
  std::vector<ProductRow> rows = table.rows();
  const std::vector<std::string> raised = RaisePeaks(rows);
  PrintWarnings(raised);
  warnings.insert(warnings.end(), raised.begin(), raised.end());
  PrintProducts(job, rows, warnings);
  if (std::ranges::any_of(table.rows(), &ProductRow::is_wrong)) return kExitDiffers;
  if (!InterruptScope::Interrupted()) return kExitOk;
  PrintMessage("fettle: interrupted; the results are those of {} lines\n", table.rows().size());
  return kExitFailed;
}

int Gemm(const GemmOptions& options) {
  InstallLog(options.common.log);
  StartInterruptThread();
  const auto code = RunGemm(options);
  if (code.ok()) return *code;
  // It reads no files: what is invalid is an option.
  const bool usage = code.status().code() == StatusCode::kInvalidArgument;
  return usage ? Fail(code.status(), kExitUsage) : Fail(code.status());
}

void AddTiming(CLI::App& sub, GemmOptions& options) {
  sub.add_option("--evals", options.evals,
                 "configurations that each search measures; 0: no search (default 16)")
      ->check(Between(0, 100000));
  sub.add_option("--warmup", options.warmup, "products before the timed ones (default 10)")
      ->check(Between(0, 100000));
  sub.add_option("--iters", options.iters, "timed products (default 20)")
      ->check(Between(1, 100000));
  sub.add_option("--protocol", options.protocol,
                 "article: also the mean of 20 products after 10, in GFLOP/s of 1024^3, as "
                 "articles report it (default fettle)")
      ->check(OneOf({"fettle", "article"}));
}

}  // namespace

void RegisterGemm(CLI::App& app, Action& action) {
  auto options = std::make_shared<GemmOptions>();
  CLI::App* sub = app.add_subcommand(
      "gemm", "time a matrix product, C = alpha * A * B + beta * C, by each kernel of the device");
  sub->add_flag("--ladder", options->ladder, "also time textbook versions, from naive to packed");
  runtime::ProductProblem& p = options->problem;
  for (const auto& [name, value] :
       {std::pair<const char*, int64_t*>{"--m,-m", &p.m}, {"--n,-n", &p.n}, {"--k,-k", &p.k}})
    sub->add_option(name, *value, "size of the product (default 1024)")->check(Between(1, 16384));
  sub->add_flag("--transa", p.trans_a, "A is stored transposed, as k x m");
  sub->add_flag("--transb", p.trans_b, "B is stored transposed, as n x k");
  sub->add_option("--alpha", p.alpha, "factor of the product (default 1)")->check(Finite());
  sub->add_option("--beta", p.beta, "factor of what C held (default 0)")->check(Finite());
  for (const auto& [name, value] :
       {std::pair<const char*, int64_t*>{"--lda", &options->strides.lda},
        {"--ldb", &options->strides.ldb},
        {"--ldc", &options->strides.ldc}})
    sub->add_option(name, *value,
                    "elements from one row to the next; 0: rows without gaps (default)")
        ->check(Between(0, 1 << 20));
  sub->add_option("--batch", p.batch, "number of products in one call (default 1)")
      ->check(Between(1, 1 << 20));
  sub->add_option("--dtype", options->dtype,
                  "type of A and B (default f32); with i8 and u8, that of A: B is i8, sums are i32")
      ->check(OneOf({"f32", "f16", "bf16", "i8", "u8"}));
  AddTiming(*sub, *options);
  AddCommonOptions(*sub, options->common);
  sub->callback([&action, options] {
    SetTypes(options->dtype, options->problem);
    action = [options] { return Gemm(*options); };
  });
}

}  // namespace fettle::tools
