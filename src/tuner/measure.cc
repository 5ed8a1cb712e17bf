#include "tuner/measure.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/clock.h"
#include "base/log.h"
#include "kernels/build_id.h"
#include "kernels/cpu/probe/fma.h"
#include "kernels/problem.h"
#include "tuner/clock_watch.h"
#include "tuner/expectation.h"
#include "tuner/verify.h"
#include "tuner/workbench.h"

namespace fettle::tuner {
namespace {

Row Outcome(Row::Status status, std::string reason = "") {
  Row row;
  row.status = status;
  row.reason = std::move(reason);
  row.unix_seconds = std::time(nullptr);
  return row;
}

/// Times of a summary at the reference clock.
void SetTimes(const Summary& us, double slowdown, Row& row) {
  row.median_us = us.median / slowdown;
  row.mad_us = us.mad / slowdown;
  row.low_us = us.low / slowdown;
  row.samples = us.samples;
}

double StandardError(const Row& row) {
  return Summary{.mad = row.mad_us, .samples = row.samples}.error();
}

/// The expectations of the groups met last.
class ExpectationCache {
 public:
  ExpectationCache(const MeasureOptions& options, ThreadPool& pool)
      : options_{.whole_macs = options.whole_macs, .seed = options.seed},
        most_bytes_(options.cache_bytes),
        pool_(pool) {}

  /// Valid until the next call.
  Result<GroupExpectations*> Get(const std::shared_ptr<const ir::Graph>& group) {
    const std::string key = KeyOf(group);
    auto found = std::find_if(entries_.begin(), entries_.end(),
                              [&](const Entry& entry) { return entry.key == key; });
    if (found == entries_.end()) {
      ASSIGN_OR_RETURN(auto made, GroupExpectations::Make(group, options_, pool_));
      Evict();
      entries_.insert(entries_.begin(), {key, std::move(made)});
    } else {
      std::rotate(entries_.begin(), found, found + 1);
    }
    return entries_[0].expectations.get();
  }

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<GroupExpectations> expectations;
  };

  /// Equal for groups of equal text whose constants have equal contents.
  static std::string KeyOf(const std::shared_ptr<const ir::Graph>& group) {
    std::string key = kernels::PrintProblem({group, kernels::RowMajorStates(*group), 1});
    for (const ir::Value& value : group->values()) {
      if (value.is_constant()) key += fmt::format("{:016x} ", value.constant->Hash());
    }
    return key;
  }

  void Evict() {
    int64_t bytes = 0;
    for (const Entry& entry : entries_) bytes += entry.expectations->bytes();
    while (!entries_.empty() && bytes > most_bytes_) {
      bytes -= entries_.back().expectations->bytes();
      entries_.pop_back();
    }
  }

  ExpectationOptions options_;
  int64_t most_bytes_;
  ThreadPool& pool_;
  std::vector<Entry> entries_;  // used last first
};

}  // namespace

class Bench::Impl {
 public:
  Impl(const CpuDevice& device, MeasureOptions options)
      : options_(std::move(options)),
        now_ns_(options_.now_ns ? options_.now_ns : NowNs),
        device_(device),
        watch_(
            now_ns_, options_.sentinel ? options_.sentinel : [] { kernels::ProbeFmaFlops(0); },
            options_.drift),
        workbench_(device, now_ns_),
        expectations_(options_, device.pool()) {}

  Row Run(const Candidate& candidate, double stop_above_us) {
    const Result<Row> row = Measure(candidate, stop_above_us);
    return row.ok() ? *row : Outcome(Row::Status::kFailed, row.status().message());
  }

  std::vector<Row> Race(std::span<const Candidate> candidates) {
    std::vector<Row> rows;
    double best = kNoLimit;
    for (const Candidate& candidate : candidates) {
      rows.push_back(Run(candidate, best));
      if (rows.back().status == Row::Status::kOk) best = std::min(best, rows.back().median_us);
    }
    const std::vector<size_t> finalists = Finalists(rows);
    if (finalists.size() < 2 || best == 0) return rows;
    if (const Status ran = RunFinal(candidates, finalists, rows); !ran.ok()) {
      // They ran before; what they gave then still stands.
      Log(LogLevel::kWarn, "a race could not be finished: {}", ran.message());
    }
    return rows;
  }

  Row RunConversion(const kernels::Operand& from, const State& to, int threads) {
    const Result<Row> row = MeasureConversion(from, to, threads);
    return row.ok() ? *row : Outcome(Row::Status::kFailed, row.status().message());
  }

 private:
  Result<Row> Measure(const Candidate& candidate, double stop_above_us) {
    const std::vector<ir::ValueId>& outputs = candidate.problem.group->outputs;
    const bool empty = std::all_of(outputs.begin(), outputs.end(), [&](ir::ValueId id) {
      return candidate.problem.shape(id).elements() == 0;
    });
    if (empty) return Outcome(Row::Status::kOk);  // such steps are never launched
    ASSIGN_OR_RETURN(GroupExpectations * expectations, expectations_.Get(candidate.problem.group));
    ASSIGN_OR_RETURN(kernels::BoundKernel kernel, workbench_.Bind(candidate));
    CpuStream stream(device_, candidate.problem.threads);
    RETURN_IF_ERROR(workbench_.Misalign(kernel, true));
    const bool is_reference = candidate.kernel->preference == 0;
    ASSIGN_OR_RETURN(const Verdict verdict, Verify(kernel, *expectations, is_reference, stream));
    if (!verdict.wrong.empty()) return Outcome(Row::Status::kWrong, verdict.wrong);
    if (kernel.LaunchesNothing()) return Outcome(Row::Status::kOk);
    RETURN_IF_ERROR(workbench_.Misalign(kernel, false));
    const Inputs inputs = NoiseFor(kernel, *expectations);
    ASSIGN_OR_RETURN(
        Row row, Time([&] { return workbench_.TimeUs(kernel, inputs, stream); }, stop_above_us));
    row.error = verdict.error;
    return row;
  }

  Result<Row> MeasureConversion(const kernels::Operand& from, const State& to, int threads) {
    if (from.shape.elements() == 0) return Outcome(Row::Status::kOk);
    ASSIGN_OR_RETURN(kernels::BoundKernel conversion, workbench_.BindConversion(from, to));
    CpuStream stream(device_, threads);
    RETURN_IF_ERROR(workbench_.Misalign(conversion, true));
    ASSIGN_OR_RETURN(const Verdict verdict, VerifyConversion(conversion, stream));
    if (!verdict.wrong.empty()) return Outcome(Row::Status::kWrong, verdict.wrong);
    RETURN_IF_ERROR(workbench_.Misalign(conversion, false));
    const std::vector<std::byte> zeros(static_cast<size_t>(StateBytes(from.shape, from.state)));
    const std::span<const std::byte> inputs[] = {zeros};
    ASSIGN_OR_RETURN(Row row,
                     Time([&] { return workbench_.TimeUs(conversion, inputs, stream); }, kNoLimit));
    row.error = verdict.error;
    return row;
  }

  using Inputs = std::vector<std::span<const std::byte>>;
  static Inputs NoiseFor(const kernels::BoundKernel& kernel, GroupExpectations& expectations) {
    Inputs inputs;
    for (size_t i = 0; i < kernel.operands().inputs.size(); ++i)
      inputs.push_back(expectations.InState(0, i, kernel.operands().inputs[i].state));
    return inputs;
  }

  /// Samples, once more where the clock changed meanwhile.
  Result<Row> Time(const Sample& sample, double stop_above_us) {
    constexpr int kAttempts = 2;
    double before = watch_.Slowdown();
    for (int attempt = 1;; ++attempt) {
      ASSIGN_OR_RETURN(const Timing timing,
                       SampleUntilSure(sample, stop_above_us * before, options_, now_ns_));
      const double after = watch_.Slowdown();
      if (attempt < kAttempts && std::fabs(after / before - 1) > options_.drift) {
        before = after;
        continue;
      }
      Row row = Outcome(timing.stopped ? Row::Status::kStopped : Row::Status::kOk);
      SetTimes(timing.us, std::sqrt(before * after), row);
      if (timing.stopped) row.reason = fmt::format("slower than {:.2f} us", stop_above_us);
      return row;
    }
  }

  /// Candidates that may be the fastest, in the order given.
  std::vector<size_t> Finalists(const std::vector<Row>& rows) const {
    std::vector<size_t> finalists;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].status == Row::Status::kOk) finalists.push_back(i);
    }
    std::stable_sort(finalists.begin(), finalists.end(),
                     [&](size_t a, size_t b) { return rows[a].median_us < rows[b].median_us; });
    if (finalists.size() > static_cast<size_t>(options_.finalists))
      finalists.resize(static_cast<size_t>(options_.finalists));
    std::erase_if(finalists, [&](size_t i) {
      return rows[i].low_us > (1 + options_.stop_margin) * rows[finalists[0]].median_us;
    });
    std::sort(finalists.begin(), finalists.end());
    return finalists;
  }

  Status RunFinal(std::span<const Candidate> candidates, const std::vector<size_t>& finalists,
                  std::vector<Row>& rows) {
    std::vector<kernels::BoundKernel> bound;
    for (size_t i : finalists) {
      ASSIGN_OR_RETURN(kernels::BoundKernel kernel, workbench_.Bind(candidates[i]));
      bound.push_back(std::move(kernel));
    }
    const kernels::Problem& problem = candidates[finalists[0]].problem;
    ASSIGN_OR_RETURN(GroupExpectations * expectations, expectations_.Get(problem.group));
    const Inputs inputs = NoiseFor(bound[0], *expectations);
    CpuStream stream(device_, problem.threads);
    std::vector<Sample> samples;
    for (const kernels::BoundKernel& kernel : bound)
      samples.push_back([&] { return workbench_.TimeUs(kernel, inputs, stream); });
    const double before = watch_.Slowdown();
    ASSIGN_OR_RETURN(const std::vector<Summary> times, SampleInRounds(samples, options_, now_ns_));
    const double slowdown = std::sqrt(before * watch_.Slowdown());
    for (size_t i = 0; i < finalists.size(); ++i) SetTimes(times[i], slowdown, rows[finalists[i]]);
    return OkStatus();
  }

  MeasureOptions options_;
  std::function<int64_t()> now_ns_;
  const CpuDevice& device_;
  ClockWatch watch_;
  Workbench workbench_;
  ExpectationCache expectations_;
};

Bench::Bench(const CpuDevice& device, MeasureOptions options)
    : impl_(std::make_unique<Impl>(device, std::move(options))) {}
Bench::~Bench() = default;

Row Bench::Run(const Candidate& candidate, double stop_above_us) {
  return impl_->Run(candidate, stop_above_us);
}

std::vector<Row> Bench::Race(std::span<const Candidate> candidates) {
  return impl_->Race(candidates);
}

Row Bench::RunConversion(const Shape& shape, DType dtype, const State& from, const State& to,
                         int threads) {
  return impl_->RunConversion({shape, dtype, from}, to, threads);
}

int Pick(std::span<const Row> rows) {
  constexpr double kGivenUp = 0.01;
  int fastest = -1;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status != Row::Status::kOk) continue;
    if (fastest < 0 || rows[i].median_us < rows[static_cast<size_t>(fastest)].median_us)
      fastest = static_cast<int>(i);
  }
  for (int i = 0; i < fastest; ++i) {
    const Row& row = rows[static_cast<size_t>(i)];
    const Row& best = rows[static_cast<size_t>(fastest)];
    if (row.status != Row::Status::kOk) continue;
    const double unsure = 2 * std::hypot(StandardError(row), StandardError(best));
    if (row.median_us - best.median_us <= std::min(unsure, kGivenUp * best.median_us)) return i;
  }
  return fastest;
}

RowKey KeyOf(const Candidate& candidate, const Device& device) {
  std::string params;
  for (const auto& [name, value] : candidate.params)
    params += fmt::format("{}{}={}", params.empty() ? "" : ",", name, value);
  return {.problem = kernels::PrintProblem(candidate.problem),
          .kernel = std::string(candidate.kernel->name),
          .version = candidate.kernel->version,
          .params = std::move(params),
          .device = std::string(device.fingerprint()),
          .protocol = kProtocol,
          .build = std::string(kernels::BuildId())};
}

RowKey ConversionKey(const Shape& shape, DType dtype, const State& from, const State& to,
                     int threads, const Device& device) {
  return {
      .problem = fmt::format("convert {}[{}] {} {} threads {}", DTypeName(dtype), shape.ToString(),
                             StateName(from, shape.rank()), StateName(to, shape.rank()), threads),
      .kernel = "cpu.convert",
      .version = 1,
      .params = "",
      .device = std::string(device.fingerprint()),
      .protocol = kProtocol,
      .build = std::string(kernels::BuildId())};
}

}  // namespace fettle::tuner
