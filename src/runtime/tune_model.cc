#include "runtime/tune_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/clock.h"
#include "base/log.h"
#include "device/opencl/opencl_device.h"
#include "kernels/build_id.h"
#include "planner/planner.h"
#include "runtime/package/package.h"

namespace fettle::runtime {
namespace {

constexpr double kResidualWarning = 0.10;

/// Integer rounding that falls differently in one layer moves the outputs of quantised networks by
/// whole steps; this is what two exact kernels may differ by there.
constexpr double kQuantisedSqnrDb = 20;

/// What storing values as f16 may cost: two plans round at different places.
constexpr double kHalfSqnrDb = 30;

bool IsQuantised(const ir::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const ir::Node& node) {
    return node.op.find("Quantize") != std::string::npos ||
           node.op.find("Integer") != std::string::npos || node.op == "MatMulNBits";
  });
}

/// The store's keys for decisions of this build: what won, how the gate judged it, and what the
/// search ended with.
std::string StoreKey(const planner::DecisionKey& key) {
  return fmt::format("plan {} {}", kernels::BuildId(), planner::PrintKey(key));
}
std::string VerdictKey(const planner::DecisionKey& key) {
  return fmt::format("gate {} {}", kernels::BuildId(), planner::PrintKey(key));
}
std::string SearchKey(tuner::Level level, const planner::DecisionKey& key) {
  return fmt::format("search {} {} {}", static_cast<int>(level), kernels::BuildId(),
                     planner::PrintKey(key));
}

/// Tunes each segment that a session comes to.
class TuningPlans final : public planner::PlanSource {
 public:
  TuningPlans(const tuner::TuneOptions& options, tuner::Store& store, TuneModelResult& result)
      : options_(options), store_(store), result_(result) {}

  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    const planner::DecisionKey key = planner::KeyOf(segment, devices, limits);
    for (const TunedSegment& known : result_.segments) {
      if (known.key == key) return planner::Apply(segment, known.decision, devices, limits.threads);
    }
    tuner::TuneReport report;
    Result<planner::Decision> decision = FindSearch(segment, key, report);
    if (!decision.ok()) decision = Search(segment, key, devices, limits, report);
    RETURN_IF_ERROR(decision.status());
    Add(report);
    result_.predicted_us += decision->predicted_us;
    result_.segments.push_back({key, std::make_shared<const ir::Graph>(segment), *decision});
    return planner::Apply(segment, *decision, devices, limits.threads);
  }

 private:
  /// What an earlier search of this level ended with, if that proved an optimum: "entries choices",
  /// then the decision.
  Result<planner::Decision> FindSearch(const ir::Graph& segment, const planner::DecisionKey& key,
                                       tuner::TuneReport& report) {
    ASSIGN_OR_RETURN(const std::string kept, store_.FindDecision(SearchKey(options_.level, key)));
    const size_t line = std::min(kept.find('\n'), kept.size());
    const char* end = kept.data() + line;
    const auto entries = std::from_chars(kept.data(), end, report.reused);
    if (line == kept.size() || entries.ec != std::errc() || entries.ptr == end ||
        std::from_chars(entries.ptr + 1, end, report.choices).ec != std::errc()) {
      return Error(StatusCode::kCorrupt, "the kept search is damaged");
    }
    report.entries = report.reused;
    return planner::ParseDecision(segment, std::string_view(kept).substr(line + 1));
  }

  Result<planner::Decision> Search(const ir::Graph& segment, const planner::DecisionKey& key,
                                   const DeviceSet& devices, const planner::Limits& limits,
                                   tuner::TuneReport& report) {
    tuner::TuneOptions options = options_;
    if (options.budget_seconds > 0) {
      options.budget_seconds =
          std::max(options.budget_seconds - result_.report.seconds, options.budget_seconds * 1e-3);
    }
    ASSIGN_OR_RETURN(const planner::Decision decision,
                     tuner::TuneGraph(segment, devices, limits, options, store_, &report));
    if (!report.stopped)
      store_.PutDecision(SearchKey(options_.level, key),
                         fmt::format("{} {}\n{}", report.entries, report.choices,
                                     planner::PrintDecision(segment, decision)));
    return decision;
  }

  void Add(const tuner::TuneReport& report) {
    tuner::TuneReport& sum = result_.report;
    sum.entries += report.entries;
    sum.measured += report.measured;
    sum.reused += report.reused;
    sum.choices += report.choices;
    sum.rounds += report.rounds;
    sum.solve_seconds += report.solve_seconds;
    sum.seconds += report.seconds;
    sum.stopped |= report.stopped;
    sum.solver = report.solver;
    sum.rejected.insert(sum.rejected.end(), report.rejected.begin(), report.rejected.end());
  }

  const tuner::TuneOptions& options_;
  tuner::Store& store_;
  TuneModelResult& result_;
};

std::vector<Tensor> InOrder(const TensorMap& outputs) {
  std::vector<Tensor> ordered;
  for (const auto& [name, tensor] : outputs) ordered.push_back(tensor);
  return ordered;
}

/// "accepted incumbent_us challenger_us ratio low high", then the decision that was judged.
std::string PrintVerdict(const tuner::GateResult& gate, const std::string& decision) {
  return fmt::format("{} {} {} {} {} {}\n{}", gate.accepted ? 1 : 0, gate.incumbent_us,
                     gate.challenger_us, gate.ratio, gate.low, gate.high, decision);
}

bool ParseVerdict(std::string_view text, std::string_view decision, tuner::GateResult& gate) {
  const size_t line = text.find('\n');
  if (line == std::string_view::npos || text.substr(line + 1) != decision) return false;
  double numbers[6] = {};
  const char* at = text.data();
  const char* end = text.data() + line;
  for (double& number : numbers) {
    while (at < end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return false;
    at = next;
  }
  gate = {.accepted = numbers[0] != 0,
          .incumbent_us = numbers[1],
          .challenger_us = numbers[2],
          .ratio = numbers[3],
          .low = numbers[4],
          .high = numbers[5],
          .reason = "as measured before for the same plan"};
  return true;
}

/// Warns where the parts do not add up to the whole.
void WarnOfResidual(const TuneModelResult& result) {
  if (result.predicted_us <= 0 || result.gate.challenger_us <= 0) return;
  const double residual = result.gate.challenger_us / result.predicted_us - 1;
  if (std::abs(residual) <= kResidualWarning) return;
  Log(LogLevel::kWarn, "the tuned plan takes {:.0f} us where {:.0f} us were predicted ({:+.0f} %)",
      result.gate.challenger_us, result.predicted_us, 100 * residual);
}

/// Compares the tuned plan with the preferred one, whole networks.
class Judge {
 public:
  Judge(const std::shared_ptr<const Model>& model, const TensorMap& inputs,
        const TuneModelOptions& options, tuner::Store& store, TuneModelResult& result)
      : model_(model), inputs_(inputs), options_(options), store_(store), result_(result) {}

  Status Run() {
    if (FindVerdict()) return OkStatus();
    auto tuned_book = std::make_shared<planner::PlanBook>();
    for (const TunedSegment& segment : result_.segments)
      tuned_book->Put({segment.key, planner::PrintDecision(*segment.graph, segment.decision)});
    ASSIGN_OR_RETURN(const auto preferred, NewSession(planner::PreferredPlans()));
    ASSIGN_OR_RETURN(const auto tuned, NewSession(planner::PlansOf(tuned_book)));
    TensorMap want, got;
    RETURN_IF_ERROR(preferred->Run(inputs_, &want));
    RETURN_IF_ERROR(tuned->Run(inputs_, &got));
    tuner::AccuracyLimits limits = options_.accuracy;
    if (options_.session.precision != planner::Precision::kHigh)
      limits.min_sqnr_db = std::min(limits.min_sqnr_db, kHalfSqnrDb);
    if (IsQuantised(model_->graph()))
      limits.min_sqnr_db = std::min(limits.min_sqnr_db, kQuantisedSqnrDb);
    result_.accuracy = tuner::CheckPlan(InOrder(got), InOrder(want), limits);
    if (!result_.accuracy.ok) {
      result_.gate.reason = "accuracy: " + result_.accuracy.reason;
      return OkStatus();
    }
    ASSIGN_OR_RETURN(result_.gate,
                     tuner::RunGate([&] { return preferred->Run(inputs_, &want); },
                                    [&] { return tuned->Run(inputs_, &got); }, options_.gate));
    return OkStatus();
  }

  /// Puts what won into the book and the store.
  Status Keep(const DeviceSet& devices, const planner::Limits& limits) {
    const bool single = result_.segments.size() == 1;
    for (TunedSegment& segment : result_.segments) {
      const std::string judged = planner::PrintDecision(*segment.graph, segment.decision);
      if (!result_.gate.accepted) {
        ASSIGN_OR_RETURN(segment.decision,
                         planner::PreferredDecision(*segment.graph, devices, limits));
      }
      if (single)
        segment.decision.measured_us =
            result_.gate.accepted ? result_.gate.challenger_us : result_.gate.incumbent_us;
      const std::string text = planner::PrintDecision(*segment.graph, segment.decision);
      result_.book->Put({segment.key, text});
      store_.PutDecision(StoreKey(segment.key), text);
      if (!result_.known)
        store_.PutDecision(VerdictKey(segment.key), PrintVerdict(result_.gate, judged));
    }
    return OkStatus();
  }

 private:
  Result<std::unique_ptr<Session>> NewSession(std::shared_ptr<planner::PlanSource> plans) {
    SessionOptions options = options_.session;
    options.plans = std::move(plans);
    return Session::Create(model_, std::move(options));
  }

  /// The verdict of an earlier call, if that judged exactly these decisions.
  bool FindVerdict() {
    for (const TunedSegment& segment : result_.segments) {
      const Result<std::string> kept = store_.FindDecision(VerdictKey(segment.key));
      const std::string judged = planner::PrintDecision(*segment.graph, segment.decision);
      if (!kept.ok() || !ParseVerdict(*kept, judged, result_.gate)) return false;
    }
    result_.known = !result_.segments.empty();
    return result_.known;
  }

  const std::shared_ptr<const Model>& model_;
  const TensorMap& inputs_;
  const TuneModelOptions& options_;
  tuner::Store& store_;
  TuneModelResult& result_;
};

}  // namespace

Result<TuneModelResult> TuneModel(const std::shared_ptr<const Model>& model,
                                  const TensorMap& inputs, const TuneModelOptions& options,
                                  tuner::Store& store) {
  const int64_t start = NowNs();
  TuneModelResult result;
  result.book = std::make_shared<planner::PlanBook>();
  SessionOptions tuning = options.session;
  tuning.plans = std::make_shared<TuningPlans>(options.tune, store, result);
  ASSIGN_OR_RETURN(const auto session, Session::Create(model, std::move(tuning)));
  TensorMap outputs;
  RETURN_IF_ERROR(session->Run(inputs, &outputs));
  Judge judge(model, inputs, options, store, result);
  RETURN_IF_ERROR(judge.Run());
  RETURN_IF_ERROR(judge.Keep(session->devices(), session->limits()));
  if (!result.known) WarnOfResidual(result);
  result.seconds = static_cast<double>(NowNs() - start) * 1e-9;
  return result;
}

Result<std::string> SaveTuned(const std::string& path, const std::string& model_path,
                              const std::shared_ptr<const Model>& model, const TensorMap& inputs,
                              const SessionOptions& options, const TuneModelResult& result) {
  // The package takes the packed weights of living sessions.
  SessionOptions planned = options;
  planned.plans = planner::PlansOf(result.book);
  ASSIGN_OR_RETURN(const auto session, Session::Create(model, std::move(planned)));
  TensorMap outputs;
  RETURN_IF_ERROR(session->Run(inputs, &outputs));
  const DeviceSet devices = session->devices();
  PackageInfo info = PackageInfo::For(devices, session->threads());
  const tuner::GateResult& gate = result.gate;
  info.default_ms = gate.incumbent_us * 1e-3;
  info.measured_ms = (gate.accepted ? gate.challenger_us : gate.incumbent_us) * 1e-3;
  info.predicted_ms = result.predicted_us * 1e-3;
  info.measurements = result.report.measured;
  const std::string where = path.empty() ? PackageFileName(model_path, devices) : path;
  std::vector<ProgramBinary> programs;
  if (devices.accelerator() != nullptr)
    programs = static_cast<const OpenClDevice*>(devices.accelerator())->programs().Export();
  RETURN_IF_ERROR(SavePackage(where, *model, *result.book, info, programs));
  return where;
}

Result<exec::Plan> LearnedPlans::PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                                         const planner::Limits& limits) {
  if (limits.reference_only) return planner::MakePlan(segment, devices, limits);
  const planner::DecisionKey key = planner::KeyOf(segment, devices, limits);
  const Result<std::string> text = store_->FindDecision(StoreKey(key));
  if (!text.ok()) return planner::MakePlan(segment, devices, limits);
  const Result<planner::Decision> decision = planner::ParseDecision(segment, *text);
  if (!decision.ok()) return planner::MakePlan(segment, devices, limits);
  Result<exec::Plan> plan = planner::Apply(segment, *decision, devices, limits.threads);
  if (!plan.ok()) return planner::MakePlan(segment, devices, limits);
  ++found_;
  predicted_us_ = predicted_us_ + decision->predicted_us;
  return plan;
}

}  // namespace fettle::runtime
