#include "tuner/measure/measure.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/log.h"
#include "kernels/backend.h"
#include "kernels/cpu/probe/fma.h"
#include "kernels/params_text.h"
#include "tuner/measure/clock_watch.h"
#include "tuner/measure/effort.h"
#include "tuner/measure/expectation_cache.h"
#include "tuner/measure/interruptions.h"
#include "tuner/measure/outcome.h"
#include "tuner/measure/verify.h"
#include "tuner/measure/workbench.h"

namespace fettle::tuner {
namespace {

std::function<int64_t()> InterruptionsOf(const MeasureOptions& options) {
  return options.interruptions || options.now_ns ? options.interruptions : Interruptions;
}

}  // namespace

class Bench::Impl {
 public:
  Impl(const DeviceSet& devices, MeasureOptions options)
      : options_(std::move(options)),
        now_ns_(options_.now_ns ? options_.now_ns : NowNs),
        watch_(
            now_ns_, options_.sentinel ? options_.sentinel : [] { kernels::ProbeFmaFlops(0); },
            options_.drift),
        workbench_(devices, now_ns_, InterruptionsOf(options_), options_.await,
                   options_.cold_constants),
        pool_threads_(static_cast<const CpuDevice&>(devices.cpu()).pool().threads()),
        expectations_({.whole_macs = options_.whole_macs, .seed = options_.seed},
                      options_.cache_bytes, static_cast<const CpuDevice&>(devices.cpu()).pool()) {}

  Outcome Run(const Candidate& candidate, double stop_above_us) {
    return Ended(Measure(candidate, stop_above_us), candidate.kernel->device(), [&] {
      return fmt::format("{} with {}", candidate.kernel->name,
                         kernels::PrintParams(candidate.params));
    });
  }

  const Status& lost() const { return lost_; }

  Effort Guess(const Candidate& candidate, double us) const {
    const kernels::Problem& problem = candidate.problem;
    if (expectations_.Has(problem.group)) return GuessKnown(problem, us);
    return GuessUnknown(problem, us, static_cast<double>(options_.whole_macs), pool_threads_);
  }

  std::vector<Row> Race(std::span<const Candidate> candidates, std::span<const Row> known) {
    std::vector<Outcome> outcomes;
    double limit_us = kNoLimit;
    for (size_t i = 0; i < candidates.size(); ++i) {
      // Of a row that was kept, the other bound is taken to be as far off.
      outcomes.push_back(known.empty()
                             ? Run(candidates[i], limit_us)
                             : Outcome{known[i], 2 * known[i].median_us - known[i].low_us});
      if (outcomes.back().ok()) limit_us = std::min(limit_us, outcomes.back().high_us);
    }
    const std::vector<size_t> finalists =
        Finalists(outcomes, options_.finalists, options_.stop_margin);
    if (finalists.size() > 1 && limit_us > 0) {
      const Status ran = RunFinal(candidates, finalists, outcomes);
      // They ran before; what they gave then still stands.
      if (!ran.ok()) Log(LogLevel::kWarn, "a race could not be finished: {}", ran.message());
    }
    std::vector<Row> rows;
    for (Outcome& outcome : outcomes) rows.push_back(std::move(outcome.row));
    return rows;
  }

  std::vector<Row> Rematch(std::span<const Candidate> candidates, std::span<const Row> known) {
    std::vector<Outcome> outcomes;
    std::vector<size_t> all;
    for (const Row& row : known) {
      all.push_back(all.size());
      outcomes.push_back({row, row.median_us});
    }
    const Result<std::vector<Summary>> times = RunSideBySide(candidates, all);
    if (times.ok()) {
      const double drift = (*times)[0].median / known[0].median_us;
      for (size_t i : all) outcomes[i].SetTimes((*times)[i], drift);
    }
    std::vector<Row> rows;
    for (Outcome& outcome : outcomes) rows.push_back(std::move(outcome.row));
    return rows;
  }

  Outcome RunConversion(const kernels::Operand& from, const State& to, int threads) {
    return Ended(
        MeasureConversion(from, to, threads), kernels::ConversionDevice(from.state, to), [&] {
          return fmt::format("a conversion from {} to {}", StateName(from.state, from.shape.rank()),
                             StateName(to, from.shape.rank()));
        });
  }

 private:
  /// What `outcome` comes to, of something that `describe` names, measured on `device`.
  template <class Describe>
  Outcome Ended(const Result<Outcome>& outcome, DeviceKind device, const Describe& describe) {
    if (outcome.ok()) return *outcome;
    const Status& why = outcome.status();
    if (why.code() == StatusCode::kCancelled) return End(Row::Status::kStopped, why.message());
    const Status now =
        why.code() == StatusCode::kDeviceError ? workbench_.CheckAlive(device) : OkStatus();
    if (now.ok()) return End(Row::Status::kFailed, why.message());
    lost_ = Error(StatusCode::kDeviceUnavailable,
                  "{} crashed its device ({}; now {}), which is remembered: tune again", describe(),
                  why.message(), now.message());
    Outcome crashed = End(Row::Status::kCrashed, why.message());
    crashed.row.samples = kFatalCrashes;
    return crashed;
  }

  Result<Outcome> Measure(const Candidate& candidate, double stop_above_us) {
    const std::vector<ir::ValueId>& outputs = candidate.problem.group->outputs;
    const bool empty = std::all_of(outputs.begin(), outputs.end(), [&](ir::ValueId id) {
      return candidate.problem.shape(id).elements() == 0;
    });
    if (empty) return End(Row::Status::kOk);  // such steps are never launched
    Await();
    ASSIGN_OR_RETURN(GroupExpectations * expectations, expectations_.Get(candidate.problem.group));
    ASSIGN_OR_RETURN(kernels::BoundKernel kernel, workbench_.Bind(candidate));
    ASSIGN_OR_RETURN(Stream * stream,
                     workbench_.StreamOf(candidate.kernel->device(), candidate.problem.threads));
    RETURN_IF_ERROR(workbench_.Misalign(kernel, true));
    ASSIGN_OR_RETURN(const Verdict verdict,
                     Verify(kernel, candidate.kernel->arithmetic, *expectations, *stream, [&] {
                       Await();
                       return IsLate(options_, now_ns_);
                     }));
    if (!verdict.wrong.empty()) return End(Row::Status::kWrong, verdict.wrong);
    if (kernel.LaunchesNothing()) return End(Row::Status::kOk);
    RETURN_IF_ERROR(workbench_.Misalign(kernel, false));
    const Inputs inputs = NoiseFor(kernel, *expectations);
    ASSIGN_OR_RETURN(
        Outcome outcome,
        Time([&] { return workbench_.TimeUs(kernel, inputs, *stream); }, stop_above_us, *stream));
    outcome.row.error = verdict.error;
    return outcome;
  }

  Result<Outcome> MeasureConversion(const kernels::Operand& from, const State& to, int threads) {
    if (from.shape.elements() == 0) return End(Row::Status::kOk);
    Await();
    ASSIGN_OR_RETURN(kernels::BoundKernel conversion, workbench_.BindConversion(from, to));
    ASSIGN_OR_RETURN(Stream * stream,
                     workbench_.StreamOf(kernels::ConversionDevice(from.state, to), threads));
    RETURN_IF_ERROR(workbench_.Misalign(conversion, true));
    ASSIGN_OR_RETURN(const Verdict verdict, VerifyConversion(conversion, *stream));
    if (!verdict.wrong.empty()) return End(Row::Status::kWrong, verdict.wrong);
    RETURN_IF_ERROR(workbench_.Misalign(conversion, false));
    const std::vector<std::byte> zeros(StateBytes(from.shape, from.state));
    const std::span<const std::byte> inputs[] = {zeros};
    ASSIGN_OR_RETURN(
        Outcome outcome,
        Time([&] { return workbench_.TimeUs(conversion, inputs, *stream); }, kNoLimit, *stream));
    outcome.row.error = verdict.error;
    return outcome;
  }

  void Await() const {
    if (options_.await) options_.await();
  }

  using Inputs = std::vector<std::span<const std::byte>>;
  static Inputs NoiseFor(const kernels::BoundKernel& kernel, GroupExpectations& expectations) {
    Inputs inputs;
    for (size_t i = 0; i < kernel.operands().inputs.size(); ++i)
      inputs.push_back(expectations.InState(0, i, kernel.operands().inputs[i].state));
    return inputs;
  }

  /// Samples, once more where the clock changed meanwhile: the CPU's, which says nothing of other
  /// devices.
  Result<Outcome> Time(const Sample& sample, double stop_above_us, const Stream& stream) {
    workbench_.TakeHostUs();
    if (WorksApart(stream)) {
      ASSIGN_OR_RETURN(const Timing timing,
                       SampleUntilSure(sample, stop_above_us, options_, now_ns_));
      Outcome outcome = OutcomeOf(timing, stop_above_us, 1);
      outcome.row.host_us = workbench_.TakeHostUs();
      return outcome;
    }
    constexpr int kAttempts = 2;
    for (int attempt = 1;; ++attempt) {
      const double before = slowdown_;
      ASSIGN_OR_RETURN(const Timing timing,
                       SampleUntilSure(sample, stop_above_us * before, options_, now_ns_));
      slowdown_ = watch_.Slowdown();
      if (attempt < kAttempts && std::fabs(slowdown_ / before - 1) > options_.drift) continue;
      return OutcomeOf(timing, stop_above_us, std::sqrt(before * slowdown_));
    }
  }

  static Outcome OutcomeOf(const Timing& timing, double stop_above_us, double slowdown) {
    Outcome outcome = End(timing.stopped ? Row::Status::kStopped : Row::Status::kOk);
    outcome.SetTimes(timing.us, slowdown);
    if (timing.stopped) outcome.row.reason = fmt::format("slower than {:.2f} us", stop_above_us);
    return outcome;
  }

  /// What some of the candidates take in the same rounds.
  Result<std::vector<Summary>> RunSideBySide(std::span<const Candidate> candidates,
                                             const std::vector<size_t>& which) {
    std::vector<kernels::BoundKernel> bound;
    for (size_t i : which) {
      ASSIGN_OR_RETURN(kernels::BoundKernel kernel, workbench_.Bind(candidates[i]));
      bound.push_back(std::move(kernel));
    }
    ASSIGN_OR_RETURN(GroupExpectations * expectations,
                     expectations_.Get(candidates[which[0]].problem.group));
    workbench_.TakeTurns(bound);
    std::vector<Sample> samples;
    for (size_t k = 0; k < which.size(); ++k) {
      samples.push_back([this, &kernel = bound[k], &candidate = candidates[which[k]],
                         inputs = NoiseFor(bound[k], *expectations)]() -> Result<double> {
        ASSIGN_OR_RETURN(Stream * stream, workbench_.StreamOf(candidate.kernel->device(),
                                                              candidate.problem.threads));
        return workbench_.TimeUs(kernel, inputs, *stream);
      });
    }
    return SampleInRounds(samples, options_, now_ns_);
  }

  /// Sets the finalists' times to what they take side by side.
  Status RunFinal(std::span<const Candidate> candidates, const std::vector<size_t>& finalists,
                  std::vector<Outcome>& outcomes) {
    ASSIGN_OR_RETURN(const std::vector<Summary> times, RunSideBySide(candidates, finalists));
    // Side by side they may all have met another clock than when each ran alone.
    double drift = 0;
    for (size_t i = 0; i < finalists.size(); ++i)
      drift += std::log(times[i].median / outcomes[finalists[i]].row.median_us);
    drift = std::exp(drift / static_cast<double>(finalists.size()));
    double fastest_us = kNoLimit;
    for (size_t i = 0; i < finalists.size(); ++i) {
      outcomes[finalists[i]].SetTimes(times[i], drift);
      fastest_us = std::min(fastest_us, outcomes[finalists[i]].row.median_us);
    }
    StopOthers(finalists, fastest_us, outcomes);
    return OkStatus();
  }

  MeasureOptions options_;
  std::function<int64_t()> now_ns_;
  ClockWatch watch_;
  double slowdown_ = 1;  // when the clock was looked at last
  Workbench workbench_;
  int pool_threads_;
  ExpectationCache expectations_;
  Status lost_;
};

Bench::Bench(const DeviceSet& devices, MeasureOptions options)
    : impl_(std::make_unique<Impl>(devices, std::move(options))) {}
Bench::~Bench() = default;

Row Bench::Run(const Candidate& candidate, double stop_above_us) {
  return impl_->Run(candidate, stop_above_us).row;
}

const Status& Bench::lost() const { return impl_->lost(); }

Effort Bench::Guess(const Candidate& candidate, double us) const {
  return impl_->Guess(candidate, us);
}

Effort Bench::GuessConversion(const Shape& shape, const State& from, const State& to) const {
  return GuessCopy(shape, from, to);
}

std::vector<Row> Bench::Race(std::span<const Candidate> candidates, std::span<const Row> known) {
  FETTLE_CHECK(known.empty() || known.size() == candidates.size(), "a row for each candidate");
  return impl_->Race(candidates, known);
}

std::vector<Row> Bench::Rematch(std::span<const Candidate> candidates, std::span<const Row> known) {
  FETTLE_CHECK(!known.empty() && known.size() == candidates.size(), "a row for each candidate");
  return impl_->Rematch(candidates, known);
}

Row Bench::RunConversion(const Shape& shape, DType dtype, const State& from, const State& to,
                         int threads) {
  return impl_->RunConversion({shape, dtype, from}, to, threads).row;
}

}  // namespace fettle::tuner
