#include "contest.h"

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "planner/planner.h"
#include "solvers/tuned_plans.h"
#include "tuner/model/tune_model.h"

namespace fettle::tools {
namespace {

constexpr std::string_view kLayouts[] = {"row", "NHWC", "NCHW8c", "NCHW16c"};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

struct Contender {
  std::string name;
  std::unique_ptr<runtime::Session> session;
  std::vector<double> ms;
};

class Contest {
 public:
  Contest(const ContestOptions& options, const Job& job)
      : options_(options),
        job_(job),
        store_(options.common.no_cache || options.common.cache.empty()
                   ? tuner::MemoryStore()
                   : tuner::OpenUserStore(options.common.cache)) {}

  Result<ContestResult> Run() {
    tuner::TuneOptions tune;
    tune.level = options_.level;
    RETURN_IF_ERROR(Add("default", planner::PreferredPlans()));
    RETURN_IF_ERROR(AddTuned(tune));
    if (options_.exhaustive) RETURN_IF_ERROR(MeasureAll(tune));
    tune.solver.method = "capped";
    RETURN_IF_ERROR(AddIfAny("capped", tune));
    tune.solver.method = "auto";
    for (std::string_view layout : kLayouts) {
      tune.layout = layout;
      RETURN_IF_ERROR(AddIfAny(tune.layout, tune));
    }
    RETURN_IF_ERROR(Time());
    ASSIGN_OR_RETURN(result_.gate, tuner::RunGate([&] { return RunOnce(contenders_[0]); },
                                                  [&] { return RunOnce(contenders_[1]); }));
    Finish();
    return std::move(result_);
  }

 private:
  Status RunOnce(const Contender& contender) {
    return contender.session->Run(job_.bound.tensors(), &outputs_);
  }

  Status Add(const std::string& name, std::shared_ptr<planner::PlanSource> plans) {
    Contender contender{.name = name};
    ASSIGN_OR_RETURN(contender.session,
                     runtime::Session::Create(job_.model, {.threads = options_.common.threads,
                                                           .plans = std::move(plans)}));
    RETURN_IF_ERROR(RunOnce(contender));
    contenders_.push_back(std::move(contender));
    return OkStatus();
  }

  Status AddTuned(const tuner::TuneOptions& tune) {
    const int64_t start = NowNs();
    const auto plans = std::make_shared<TunedPlans>(tune, options_.budget, *store_);
    RETURN_IF_ERROR(Add("tuned", plans));
    result_.tune_seconds = static_cast<double>(NowNs() - start) * 1e-9;
    result_.predicted_ms = plans->predicted_us() * 1e-3;
    result_.measured = plans->measured();
    result_.entries = plans->entries();
    for (const planner::Decision& decision : plans->decisions()) {
      for (const planner::GroupDecision& group : decision.groups)
        result_.kernels[group.kernel].predicted_us += group.us;
      for (const planner::ConversionDecision& conversion : decision.conversions)
        result_.kernels["conversions"].predicted_us += conversion.us;
    }
    return OkStatus();
  }

  Status MeasureAll(tuner::TuneOptions tune) {
    tune.everything = true;
    const auto all = std::make_shared<TunedPlans>(tune, 0, *store_);
    RETURN_IF_ERROR(Add("everything", all));
    contenders_.pop_back();
    result_.all_entries = all->entries();
    result_.all_predicted_ms = all->predicted_us() * 1e-3;
    return OkStatus();
  }

  /// A layout may be one that no tensor can have, and a beam may lose every cover.
  Status AddIfAny(const std::string& name, const tuner::TuneOptions& tune) {
    const auto plans = std::make_shared<TunedPlans>(tune, options_.budget, *store_);
    const Status added = Add(name, plans);
    if (added.code() == StatusCode::kUnsupported) return OkStatus();
    if (added.ok() && !plans->layout_status().ok()) contenders_.pop_back();
    return added;
  }

  /// Rounds in which each network runs once, in an order that changes.
  Status Time() {
    std::vector<size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const int64_t start = NowNs();
    for (size_t round = 0;
         round < 10 || static_cast<double>(NowNs() - start) * 1e-9 < options_.seconds; ++round) {
      std::rotate(order.begin(), order.begin() + 1, order.end());
      for (size_t i : order) {
        const int64_t begin = NowNs();
        RETURN_IF_ERROR(RunOnce(contenders_[i]));
        if (round == 0) continue;
        contenders_[i].ms.push_back(static_cast<double>(NowNs() - begin) * 1e-6);
        if (i == 1) KeepSteps(contenders_[i].session->profile());
      }
    }
    return OkStatus();
  }

  void KeepSteps(const std::vector<exec::StepProfile>& steps) {
    step_ms_.resize(steps.size());
    step_kernels_.resize(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      step_ms_[i].push_back(steps[i].ms);
      step_kernels_[i] = steps[i].op == "Convert" ? "conversions" : steps[i].kernel;
    }
  }

  void Finish() {
    for (const Contender& contender : contenders_) {
      const double ms = Median(contender.ms);
      if (contender.name == "default") {
        result_.default_ms = ms;
      } else if (contender.name == "tuned") {
        result_.tuned_ms = ms;
      } else if (contender.name == "capped") {
        result_.capped_ms = ms;
      } else {
        result_.singles.push_back({contender.name, ms});
      }
    }
    for (size_t i = 0; i < step_ms_.size(); ++i) {
      const double ms = Median(step_ms_[i]);
      KernelTimes& times = result_.kernels[step_kernels_[i]];
      times.network_us += ms * 1e3;
      ++times.steps;
      result_.steps_ms += ms;
    }
  }

  const ContestOptions& options_;
  const Job& job_;
  std::unique_ptr<tuner::Store> store_;
  std::vector<Contender> contenders_;
  runtime::TensorMap outputs_;
  std::vector<std::vector<double>> step_ms_;  // of the tuned plan
  std::vector<std::string> step_kernels_;
  ContestResult result_;
};

}  // namespace

const Standing* ContestResult::BestSingle() const {
  const auto best =
      std::min_element(singles.begin(), singles.end(),
                       [](const Standing& a, const Standing& b) { return a.ms < b.ms; });
  return best == singles.end() ? nullptr : &*best;
}

Result<ContestResult> RunContest(const ContestOptions& options, const Job& job) {
  return Contest(options, job).Run();
}

}  // namespace fettle::tools
