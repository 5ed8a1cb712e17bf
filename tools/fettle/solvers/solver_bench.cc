#include "solvers/solver_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "jobs/interrupt.h"
#include "jobs/tuning.h"
#include "planner/planner.h"
#include "report/progress.h"
#include "solvers/tuned_plans.h"
#include "tuner/measure/statistics.h"

namespace fettle::tools {
namespace {

constexpr std::string_view kJoint = "joint", kDefault = "default", kSingle = "single:";

std::vector<std::string> SplitNames(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream stream(text + ",");
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

/// A session on the plans of one solver, and the times of its rounds.
struct Contender {
  std::string solver;
  std::unique_ptr<runtime::Session> session;
  double predicted_ms = 0;
  int64_t measured = 0;
  std::vector<double> ms;
  std::vector<exec::StepProfile> sums;

  void Keep(double taken) {
    ms.push_back(taken);
    const std::vector<exec::StepProfile> steps = session->profile();
    if (sums.size() != steps.size())
      sums = steps;
    else
      for (size_t i = 0; i < steps.size(); ++i) sums[i].ms += steps[i].ms;
  }
};

class SolverContest {
 public:
  SolverContest(const Job& job, const JobOptions& options)
      : job_(job), options_(options), store_(StoreFor(options.common)) {}

  Status Add(const std::string& solver) {
    Contender contender{.solver = solver};
    runtime::SessionOptions wanted = job_.session;
    wanted.cancelled = &InterruptScope::Flag();
    std::shared_ptr<TunedPlans> tuned;
    Progress progress("plan", 0);
    if (solver != kDefault) wanted.plans = tuned = PlansOf(solver, progress);
    if (tuned == nullptr) wanted.plans = planner::PreferredPlans();
    ASSIGN_OR_RETURN(contender.session, runtime::Session::Create(job_.model, std::move(wanted)));
    RETURN_IF_ERROR(RunOnce(contender));
    if (tuned != nullptr) {
      tuned->EndProgress();
      RETURN_IF_ERROR(tuned->layout_status());
      contender.predicted_ms = tuned->predicted_us() * 1e-3;
      contender.measured = tuned->measured();
    }
    contenders_.push_back(std::move(contender));
    return OkStatus();
  }

  void MoveLastToFront() { std::ranges::rotate(contenders_, contenders_.end() - 1); }

  /// False where the user interrupts. Only whole rounds count.
  Result<bool> Time(const BenchLength& length) {
    std::vector<size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    Progress progress("bench", length.iters);
    const double seconds = length.seconds * static_cast<double>(order.size());
    int64_t begin = NowNs();
    for (int round = -length.warmup;; ++round) {
      if (round == 0) begin = NowNs();
      std::rotate(order.begin(), order.begin() + 1, order.end());
      std::vector<double> taken(order.size());
      for (const size_t i : order) {
        const int64_t start = NowNs();
        const Status ran = RunOnce(contenders_[i]);
        if (ran.code() == StatusCode::kCancelled && rounds() > 0) return false;
        RETURN_IF_ERROR(ran);
        taken[i] = MsSince(start);
      }
      if (round < 0) continue;
      for (const size_t i : order) contenders_[i].Keep(taken[i]);
      const double elapsed = MsSince(begin) * 1e-3;
      if (length.iters > 0) progress.Update(rounds());
      if (length.iters == 0) progress.UpdateFraction(elapsed / seconds);
      if (length.iters > 0 ? rounds() >= length.iters : elapsed >= seconds) return true;
    }
  }

  int64_t rounds() const { return std::ssize(contenders_.front().ms); }

  std::vector<SolverRow> Rows() const {
    std::vector<SolverRow> rows;
    for (const Contender& contender : contenders_) rows.push_back(RowOf(contender));
    for (SolverRow& row : rows) row.same_kernels = AreSame(row.steps, rows.front().steps);
    return rows;
  }

 private:
  std::shared_ptr<TunedPlans> PlansOf(const std::string& solver, Progress& progress) {
    tuner::TuneOptions tune;
    tune.solver.seed = tune.measure.seed = options_.common.seed;
    tune.measure.cancelled = &InterruptScope::Flag();
    if (solver.starts_with(kSingle)) tune.layout = solver.substr(kSingle.size());
    tune.progress = [&progress](const tuner::TuneProgress& now) {
      const auto measured = static_cast<double>(now.measured), open = static_cast<double>(now.open);
      progress.UpdateFraction(measured + open > 0 ? measured / (measured + open) : 0);
      return true;
    };
    return std::make_shared<TunedPlans>(std::move(tune), 0, *store_);
  }

  Status RunOnce(const Contender& contender) {
    return contender.session->Run(job_.bound.tensors(), &outputs_);
  }

  SolverRow RowOf(const Contender& contender) const {
    SolverRow row{.solver = contender.solver,
                  .ms = tuner::Median(contender.ms),
                  .predicted_ms = contender.predicted_ms,
                  .measured = contender.measured,
                  .steps = contender.sums};
    std::vector<double> ratios;
    for (size_t i = 0; i < contender.ms.size(); ++i)
      ratios.push_back(contender.ms[i] / contenders_.front().ms[i]);
    const tuner::Summary summary = tuner::Summarise(ratios);
    row.ratio = summary.median;
    row.low = summary.low;
    row.high = summary.high;
    for (exec::StepProfile& step : row.steps) step.ms /= static_cast<double>(rounds());
    return row;
  }

  static bool AreSame(const std::vector<exec::StepProfile>& a,
                      const std::vector<exec::StepProfile>& b) {
    return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
      return one.node == other.node && one.kernel == other.kernel &&
             one.layout_in == other.layout_in && one.layout_out == other.layout_out;
    });
  }

  const Job& job_;
  const JobOptions& options_;
  std::shared_ptr<tuner::Store> store_;
  std::vector<Contender> contenders_;
  runtime::TensorMap outputs_;
};

}  // namespace

std::vector<std::string> SolverNames::list() const {
  std::vector<std::string> names = {std::string(kJoint)};
  for (std::string& name : SplitNames(text))
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  return names;
}

std::string CheckSolvers(const std::string& text) {
  for (const std::string& name : SplitNames(text)) {
    const bool is_single = name.starts_with(kSingle) && name.size() > kSingle.size();
    if (!is_single && name != kJoint && name != kDefault)
      return fmt::format(
          "expected joint|default|single:LAYOUT, with commas between several, got '{}'", name);
  }
  return "";
}

Result<SolverResult> MeasureSolvers(const Job& job, const JobOptions& options,
                                    const std::vector<std::string>& solvers,
                                    const BenchLength& length) {
  SolverContest contest(job, options);
  // The joint plan comes last, so that it knows the costs of all kernels that the others measured.
  for (size_t i = 1; i < solvers.size(); ++i) RETURN_IF_ERROR(contest.Add(solvers[i]));
  RETURN_IF_ERROR(contest.Add(solvers[0]));
  contest.MoveLastToFront();
  SolverResult result;
  ASSIGN_OR_RETURN(const bool ended, contest.Time(length));
  result.interrupted = !ended;
  result.rounds = contest.rounds();
  result.rows = contest.Rows();
  return result;
}

}  // namespace fettle::tools
