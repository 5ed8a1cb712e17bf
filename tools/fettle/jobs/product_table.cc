#include "jobs/product_table.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "jobs/interrupt.h"
#include "kernels/check/tolerance.h"
#include "kernels/params_text.h"
#include "kernels/work.h"
#include "report/report.h"
#include "tensor/compare.h"
#include "tuner/model/kept_plans.h"
#include "tuner/model/tune_model.h"

namespace fettle::tools {
namespace {

using tuner::Candidate;
using tuner::Row;

/// A way is timed no longer than this, so that slow ones do not hold up the table.
constexpr double kMostMs = 3000;

tuner::MeasureOptions Measuring(const GemmOptions& options) {
  tuner::MeasureOptions measuring;
  measuring.warm_ups = options.warmup;
  // As many samples as were asked for, within the time.
  measuring.min_samples = options.iters;
  measuring.precision = 1;
  measuring.min_ms = 0;
  measuring.max_ms = kMostMs;
  measuring.seed = options.common.seed;
  measuring.cancelled = &InterruptScope::Flag();
  return measuring;
}

kernels::Work WorkOf(const Candidate& candidate, const Device& device) {
  const auto match = kernels::MatchGroup(*candidate.kernel, candidate.problem.group, device);
  kernels::Setting setting{.threads = candidate.problem.threads, .params = candidate.params};
  if (!match.ok()) return kernels::WorkOf(*candidate.kernel, candidate.problem, nullptr, setting);
  const auto states = kernels::FindStates(*candidate.kernel, **match, candidate.problem.states);
  if (states.ok()) setting.states = *states;
  return kernels::WorkOf(*candidate.kernel, candidate.problem, match->get(), setting);
}

std::string_view PrecisionOf(const Candidate& candidate) {
  const kernels::KernelDesc& kernel = *candidate.kernel;
  exec::StepProfile step{.kernel = std::string(kernel.name),
                         .device = std::string(DeviceKindName(kernel.device()))};
  step.dtype = DTypeName(candidate.problem.states.outputs[0].storage);
  return UsedPrecision({&step, 1});
}

/// What elements of a call may be off by: below high precision factors may be rounded.
Tolerance CallTolerance(const GemmJob& job) {
  const runtime::ProductProblem& p = job.options.problem;
  const double alpha = std::abs(p.alpha), k = static_cast<double>(p.k);
  const Tolerance exact = KernelTolerance(p.c, p.k, alpha * k);
  if (!IsFloat(p.c) || job.precision == planner::Precision::kHigh) return exact;
  using enum kernels::Arithmetic;
  return kernels::WidenedForArithmetic(exact, job.accelerator == nullptr ? kBF16 : kTF32,
                                       alpha * std::sqrt(k));
}

/// Matrices as rows `leading` elements apart (0: without gaps); gaps have all bits set.
std::vector<std::byte> Spread(const Tensor& dense, int64_t leading) {
  const auto bytes_of = [&](int64_t elements) { return StorageBytes(dense.dtype(), elements); };
  const int64_t columns = dense.shape()[dense.shape().rank() - 1];
  const int64_t rows = dense.elements() / columns, pitch = leading == 0 ? columns : leading;
  std::vector<std::byte> bytes(static_cast<size_t>(bytes_of(rows * pitch)), std::byte{0xff});
  for (int64_t r = 0; r < rows; ++r)
    std::copy_n(dense.data() + bytes_of(r * columns), bytes_of(columns),
                bytes.data() + bytes_of(r * pitch));
  return bytes;
}

/// Whether 64 elements of the first product, with beta 0, are what sums in double give.
bool IsRight(const GemmJob& job, const std::vector<std::byte>& c, int64_t ldc) {
  const runtime::ProductProblem& p = job.options.problem;
  const HostView a = job.a.view(), b = job.b.view();
  const HostView result{const_cast<std::byte*>(c.data()), p.c, Shape{p.m, ldc}, {ldc, 1}};
  Comparison comparison(CallTolerance(job));
  for (int64_t i = 0; i < 64; ++i) {
    const int64_t row = i * 7919 % p.m, column = i * 104729 % p.n;
    double sum = 0;
    for (int64_t s = 0; s < p.k; ++s)
      sum += a.GetDouble(p.trans_a ? s * p.m + row : row * p.k + s) *
             b.GetDouble(p.trans_b ? column * p.k + s : s * p.n + column);
    const double want = p.alpha * sum, got = result.GetDouble(row * ldc + column);
    comparison.Add(i, {&got, 1}, {&want, 1});
  }
  return comparison.Finish().ok();
}

}  // namespace

ProductTable::ProductTable(const GemmJob& job)
    : job_(job),
      bench_(job.devices(), Measuring(job.options), *job.store),
      peaks_(job.cpu, job.accelerator, job.threads) {}

void ProductTable::Fill(ProductRow& row, const Candidate& candidate, const Row& measured) {
  row.params = kernels::PrintParams(candidate.params);
  row.ms = measured.median_us * 1e-3;
  row.runs = measured.samples;
  row.verified = measured.status == Row::Status::kOk;
  row.precision = PrecisionOf(candidate);
  if (measured.status == Row::Status::kWrong)
    row.refused = "WRONG: " + measured.reason;
  else if (!row.verified)
    row.refused = measured.reason;
  if (row.ms <= 0) return;
  const DeviceSet devices = job_.devices();
  const kernels::Work work = WorkOf(candidate, *devices.Find(candidate.kernel->device()));
  row.peak = work.ceiling;
  const double peak = peaks_.Of(work.ceiling);
  row.share_of_peak = peak > 0 ? work.operations / (row.ms * 1e-3) / peak : 0;
  if (row.verified && job_.options.by_article())
    AddArticleTime(row, TimeAsArticle(candidate, devices, job_.options.common.seed));
}

void ProductTable::AddArticleTime(ProductRow& row, const Result<ArticleTime>& time) {
  if (time.ok())
    row.article = *time;
  else if (!InterruptScope::Interrupted())
    Log(LogLevel::kWarn, "{}: --protocol article: {}", row.name, time.status().message());
}

void ProductTable::AddLines(std::vector<ProductLine> lines) {
  for (ProductLine& line : lines) {
    if (InterruptScope::Interrupted()) return;
    ProductRow row;
    row.name = line.name;
    row.kernel = line.kernel;
    row.constant_b = line.constant_b;
    row.refused = line.refused;
    if (line.candidate) {
      Fill(row, *line.candidate, bench_.Measure(*line.candidate));
      if (InterruptScope::Interrupted()) return;
      measured_.push_back({rows_.size(), std::move(*line.candidate)});
    }
    rows_.push_back(std::move(row));
  }
}

const ProductTable::Measured* ProductTable::Best() const {
  const Measured* best = nullptr;
  for (const Measured& one : measured_) {
    const ProductRow& row = rows_[one.row];
    if (!row.verified || one.candidate.params.empty()) continue;
    if (best == nullptr || row.ms < rows_[best->row].ms) best = &one;
  }
  return best;
}

ProductRow& ProductTable::Add(std::string name, const Measured& of) {
  ProductRow row;
  row.name = std::move(name);
  row.kernel = rows_[of.row].kernel;
  row.constant_b = rows_[of.row].constant_b;
  rows_.push_back(std::move(row));
  return rows_.back();
}

void ProductTable::AddTuned() {
  const Measured* const best = Best();
  if (best == nullptr || job_.options.evals == 0) return;
  const Measured start = *best;
  if (start.candidate.params.contains("LX"))
    AddSearched("the best, tuned work-group", start, true);
  else if (job_.accelerator != nullptr)
    Add("the best, tuned work-group", start).refused = "its tiles fix the work-group";
  if (InterruptScope::Interrupted()) return;
  const std::optional<Measured> tuned = AddSearched("the best, tuned", start, false);
  if (tuned && job_.accelerator != nullptr && !InterruptScope::Interrupted()) AddFastMath(*tuned);
}

std::optional<ProductTable::Measured> ProductTable::AddSearched(std::string name,
                                                                const Measured& start,
                                                                bool work_group_alone) {
  const auto found =
      bench_.Search(start.candidate, {.evaluations = job_.options.evals,
                                      .seed = job_.options.common.seed,
                                      .work_group_alone = work_group_alone,
                                      .interrupted = [] { return InterruptScope::Interrupted(); }});
  if (!found.ok()) Add(std::move(name), start).refused = found.status().message();
  if (!found.ok() || !*found) return std::nullopt;
  // What was found against where it began, side by side.
  std::vector<Candidate> racing{start.candidate};
  if (**found != start.candidate.params) {
    racing.push_back(start.candidate);
    racing.back().params = **found;
  }
  const std::vector<Row> measured = bench_.Race(racing);
  if (InterruptScope::Interrupted()) return std::nullopt;
  const auto winner = static_cast<size_t>(std::max(0, Pick(measured)));
  const ProductRow before = rows_[start.row];
  ProductRow& row = Add(std::move(name), start);
  Fill(row, racing[winner], measured[winner]);
  if (winner > 0 && row.ms < before.ms) return Measured{rows_.size() - 1, racing[winner]};
  // Nothing faster was found: it stays what it was.
  std::string named = std::move(row.name);
  row = before;
  row.name = std::move(named);
  return Measured{rows_.size() - 1, start.candidate};
}

void ProductTable::AddFastMath(Measured tuned) {
  Candidate& candidate = tuned.candidate;
  const DeviceSet devices = job_.devices();
  const bool has_form = candidate.params.contains("FAST_MATH");
  candidate.params["FAST_MATH"] = 1;
  const Status valid = !has_form ? Unsupported("its program has no such form")
                                 : kernels::SpaceOf(*candidate.kernel, candidate.problem,
                                                    *devices.Find(candidate.kernel->device()))
                                       .check(candidate.params);
  const Row row = valid.ok() ? bench_.Measure(candidate) : Row();
  if (InterruptScope::Interrupted()) return;
  ProductRow& added = Add("with fast relaxed math", tuned);
  if (valid.ok())
    Fill(added, candidate, row);
  else
    added.refused = valid.message();
}

Status ProductTable::AddCall() {
  const runtime::ProductProblem& p = job_.options.problem;
  runtime::ProductStrides strides = job_.options.strides;
  const auto or_dense = [](int64_t leading, int64_t columns) {
    return leading == 0 ? columns : leading;
  };
  const int64_t ldc = or_dense(strides.ldc, p.n);
  strides.a = (p.trans_a ? p.k : p.m) * or_dense(strides.lda, p.trans_a ? p.m : p.k);
  strides.b = (p.trans_b ? p.n : p.k) * or_dense(strides.ldb, p.trans_b ? p.k : p.n);
  strides.c = p.m * ldc;
  runtime::SessionOptions options{.threads = job_.threads,
                                  .plans = std::make_shared<tuner::LearnedPlans>(job_.store),
                                  .precision = job_.precision};
  if (job_.accelerator != nullptr) options.accelerators = {job_.accelerator};
  // Refuses leading dimensions before anything is copied with them.
  RETURN_IF_ERROR(runtime::MatrixProduct::Create(p, strides, nullptr, options).status());
  const std::vector<std::byte> a = Spread(job_.a, strides.lda), b = Spread(job_.b, strides.ldb);
  std::vector<std::byte> c(static_cast<size_t>(StorageBytes(p.c, p.batch * strides.c)));
  ASSIGN_OR_RETURN(const auto product,
                   runtime::MatrixProduct::Create(p, strides, b.data(), std::move(options)));
  const auto call = [&] { return product->Run(a.data(), nullptr, c.data()); };
  RETURN_IF_ERROR(call());
  ProductRow row;
  row.name = "the call, host to host";
  row.kernel = product->kernels();
  row.precision = UsedPrecision(product->steps());
  row.constant_b = true;
  row.verified = p.beta != 0 || IsRight(job_, c, ldc);
  ASSIGN_OR_RETURN(const tuner::Summary us, TimeCalls(call, Measuring(job_.options)));
  row.ms = us.median * 1e-3;
  row.runs = us.samples;
  // A call begins and ends on the host, whose clock times it.
  if (job_.options.by_article()) AddArticleTime(row, TimeAsArticle(call, [] { return -1; }));
  rows_.push_back(std::move(row));
  return OkStatus();
}

}  // namespace fettle::tools
