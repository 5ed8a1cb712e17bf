#include "runtime/tune_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/clock.h"
#include "base/log.h"
#include "planner/planner.h"
#include "runtime/package/package.h"
#include "runtime/plan_accuracy.h"
#include "runtime/timetable.h"
#include "runtime/tuning_plans.h"

namespace fettle::runtime {
namespace {

constexpr double kResidualWarning = 0.10;

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

Result<std::string> FindStamped(tuner::Store& store, const std::string& key) {
  ASSIGN_OR_RETURN(const std::string kept, store.FindDecision(key));
  return Unstamp(kept);
}

/// Warns where the parts do not add up to the whole.
void WarnOfResidual(const TuneModelResult& result) {
  if (result.predicted_us <= 0 || result.gate.challenger_us <= 0 || result.report.stopped) return;
  const double residual = result.gate.challenger_us / result.predicted_us - 1;
  if (std::abs(residual) <= kResidualWarning) return;
  Log(LogLevel::kWarn, "the tuned plan takes {:.0f} us where {:.0f} us were predicted ({:+.0f} %)",
      result.gate.challenger_us, result.predicted_us, 100 * residual);
}

/// Tunes, and compares the tuned plan with the preferred one, whole networks.
class ModelTuner {
 public:
  ModelTuner(const std::shared_ptr<const Model>& model, const TensorMap& inputs,
             const TuneModelOptions& options, tuner::Store& store)
      : model_(model), inputs_(inputs), options_(options), tune_(options.tune), store_(store) {
    result_.book = std::make_shared<planner::PlanBook>();
    result_.deadline_ns = options.deadline_ns;
  }

  Result<TuneModelResult> Run() {
    const int64_t start = NowNs();
    Timetable timetable;
    if (options_.deadline_ns > 0) {
      RETURN_IF_ERROR(RunPreferred());
      timetable = Timetable::Make(options_, default_run_, *model_, NowNs());
      tune_.deadline_ns = timetable.tune_until_ns;
    }
    do {
      RETURN_IF_ERROR(Tune(timetable.compares));
      if (!timetable.compares) {
        result_.gate.reason = timetable.reason;
        KnowOnlyDefault();
        break;
      }
      if (FindVerdict()) break;
      RETURN_IF_ERROR(CheckAccuracy());
    } while (!result_.accuracy.ok && BanWorst());
    if (timetable.compares && !result_.known && result_.accuracy.ok)
      RETURN_IF_ERROR(RunGate(timetable));
    RETURN_IF_ERROR(Keep(timetable.compares));
    if (!result_.known) WarnOfResidual(result_);
    result_.seconds = static_cast<double>(NowNs() - start) * 1e-9;
    return std::move(result_);
  }

 private:
  Result<std::unique_ptr<Session>> NewSession(std::shared_ptr<planner::PlanSource> plans) {
    SessionOptions options = options_.session;
    options.plans = std::move(plans);
    options.judges_first_run = false;
    return Session::Create(model_, std::move(options));
  }

  /// The preferred plan's session, its outputs, and what that took.
  Status RunPreferred() {
    if (preferred_ != nullptr) return OkStatus();
    int64_t begin = NowNs();
    const auto lap = [&begin] {
      const int64_t end = NowNs();
      return static_cast<double>(end - std::exchange(begin, end)) * 1e-9;
    };
    ASSIGN_OR_RETURN(preferred_, NewSession(planner::PreferredPlans()));
    std::map<std::string, Shape> shapes;
    for (const auto& [name, tensor] : inputs_) shapes.emplace(name, tensor.shape());
    RETURN_IF_ERROR(preferred_->Prepare(shapes));
    default_run_.prepare_seconds = lap();
    RETURN_IF_ERROR(preferred_->Run(inputs_, &want_));
    default_run_.first_seconds = lap();
    if (options_.deadline_ns == 0) return OkStatus();
    RETURN_IF_ERROR(preferred_->Run(inputs_, &want_));
    default_run_.run_seconds = lap();
    return OkStatus();
  }

  /// Tunes what the session comes to; only what can be known without running it unless `runs`.
  Status Tune(bool runs) {
    result_.segments.clear();
    result_.predicted_us = 0;
    result_.report.lossy.clear();
    const auto plans = std::make_shared<TuningPlans>(tune_, store_, result_);
    ASSIGN_OR_RETURN(tuned_, NewSession(plans));
    Status status;
    if (runs) {
      status = tuned_->Run(inputs_, &got_);
    } else {
      std::map<std::string, Shape> shapes;
      for (const auto& [name, tensor] : inputs_) shapes.emplace(name, tensor.shape());
      status = tuned_->Prepare(shapes);
    }
    plans->Close();
    return status;
  }

  bool MayLosePrecision() const { return options_.session.precision != planner::Precision::kHigh; }

  tuner::PlanAccuracy Judge(const TensorMap& outputs) const {
    return CompareOutputs(
        outputs, MayLosePrecision() ? exact_ : want_,
        LimitsFor(model_->graph(), options_.session.precision, options_.accuracy));
  }

  /// What is right: the preferred plan's outputs, or, where that may store values in f16 that do
  /// not fit, the CPU's, which the preferred plan is then judged by too.
  Status FindReference() {
    RETURN_IF_ERROR(RunPreferred());
    if (!MayLosePrecision() || !exact_.empty()) return OkStatus();
    ASSIGN_OR_RETURN(const auto session,
                     Session::Create(model_, {.threads = options_.session.threads}));
    RETURN_IF_ERROR(session->Run(inputs_, &exact_));
    preferred_accuracy_ = Judge(want_);
    return OkStatus();
  }

  Status CheckAccuracy() {
    RETURN_IF_ERROR(FindReference());
    result_.accuracy = Judge(got_);
    if (!result_.accuracy.ok) result_.gate.reason = "accuracy: " + result_.accuracy.reason;
    return OkStatus();
  }

  /// Bans the choice that loses most accuracy for the time it saves; false where none loses any.
  bool BanWorst() {
    std::vector<tuner::LossyChoice> trades;
    for (const tuner::Lossy& lossy : result_.report.lossy) trades.push_back(lossy.trade);
    const int worst = tuner::WorstTrade(trades);
    if (worst < 0) return false;
    const tuner::Lossy& lossy = result_.report.lossy[worst];
    result_.banned.push_back(lossy);
    return tune_.banned.insert(lossy.key).second;
  }

  /// The default plan stays, and its one run is all that is known of times.
  void KnowOnlyDefault() {
    result_.gate.incumbent_us = result_.gate.challenger_us = default_run_.run_seconds * 1e6;
  }

  Status RunGate(const Timetable& timetable) {
    tuner::GateOptions gate = options_.gate;
    gate.warms_up = false;
    if (options_.deadline_ns > 0)
      gate.seconds = std::min(gate.seconds, timetable.GateSeconds(NowNs()));
    ASSIGN_OR_RETURN(result_.gate,
                     tuner::RunGate([&] { return preferred_->Run(inputs_, &want_); },
                                    [&] { return tuned_->Run(inputs_, &got_); }, gate));
    if (result_.gate.pairs == 0) KnowOnlyDefault();
    if (preferred_accuracy_.ok || result_.gate.accepted) return OkStatus();
    result_.gate.accepted = true;
    result_.gate.reason = "the default plan loses too much: " + preferred_accuracy_.reason;
    return OkStatus();
  }

  /// Puts what won into the book, and, where it was `compared`, into the store.
  Status Keep(bool compared) {
    const bool single = result_.segments.size() == 1;
    for (TunedSegment& segment : result_.segments) {
      const planner::Decision judged = segment.decision;
      const std::string judged_text = planner::PrintDecision(*segment.graph, judged);
      if (!result_.gate.accepted) {
        ASSIGN_OR_RETURN(
            segment.decision,
            planner::PreferredDecision(*segment.graph, tuned_->devices(), tuned_->limits()));
      }
      if (single)
        segment.decision.measured_us =
            result_.gate.accepted ? result_.gate.challenger_us : result_.gate.incumbent_us;
      const std::string text = planner::PrintDecision(*segment.graph, segment.decision);
      result_.book->Put({segment.key, text});
      if (compared) store_.PutDecision(StoreKey(segment.key), Stamp(segment.decision, text));
      if (compared && !result_.known)
        store_.PutDecision(VerdictKey(segment.key),
                           Stamp(judged, PrintVerdict(result_.gate, judged_text)));
    }
    result_.session = result_.gate.accepted ? std::move(tuned_) : std::move(preferred_);
    return OkStatus();
  }

  /// The verdict of an earlier call, if that judged exactly these decisions.
  bool FindVerdict() {
    for (const TunedSegment& segment : result_.segments) {
      const Result<std::string> kept = FindStamped(store_, VerdictKey(segment.key));
      const std::string judged = planner::PrintDecision(*segment.graph, segment.decision);
      if (!kept.ok() || !ParseVerdict(*kept, judged, result_.gate)) return false;
    }
    result_.known = !result_.segments.empty();
    return result_.known;
  }

  const std::shared_ptr<const Model>& model_;
  const TensorMap& inputs_;
  const TuneModelOptions& options_;
  tuner::TuneOptions tune_;
  tuner::Store& store_;
  TuneModelResult result_;
  std::unique_ptr<Session> preferred_, tuned_;
  TensorMap want_, got_, exact_;
  tuner::PlanAccuracy preferred_accuracy_;
  DefaultRun default_run_;
};

}  // namespace

Result<TuneModelResult> TuneModel(const std::shared_ptr<const Model>& model,
                                  const TensorMap& inputs, const TuneModelOptions& options,
                                  tuner::Store& store) {
  return ModelTuner(model, inputs, options, store).Run();
}

Result<std::string> SaveTuned(const std::string& path, const std::string& model_path,
                              const std::shared_ptr<const Model>& model, const TensorMap& inputs,
                              const SessionOptions& options, TuneModelResult& result) {
  // The package takes the packed weights of living sessions.
  if (result.session == nullptr && result.deadline_ns == 0) {
    SessionOptions planned = options;
    planned.plans = planner::PlansOf(result.book);
    ASSIGN_OR_RETURN(result.session, Session::Create(model, std::move(planned)));
    TensorMap outputs;
    RETURN_IF_ERROR(result.session->Run(inputs, &outputs));
  }
  if (result.session == nullptr) {
    // Not run and not planned: it only says which devices and threads the package is for.
    ASSIGN_OR_RETURN(result.session, Session::Create(model, options));
  }
  const DeviceSet devices = result.session->devices();
  PackageInfo info = PackageInfo::For(devices, result.session->threads());
  const tuner::GateResult& gate = result.gate;
  info.default_ms = gate.incumbent_us * 1e-3;
  info.measured_ms = (gate.accepted ? gate.challenger_us : gate.incumbent_us) * 1e-3;
  info.predicted_ms = result.predicted_us * 1e-3;
  info.measurements = result.report.measured;
  const std::string where = path.empty() ? PackageFileName(model_path, devices) : path;
  std::vector<ProgramBinary> programs;
  for (const Device* device : devices.beside_cpu())
    std::ranges::move(device->ExportPrograms(), std::back_inserter(programs));
  if (!Timetable::AffordsPackedWeights(*model, result.deadline_ns, NowNs())) {
    Log(LogLevel::kWarn,
        "the budget leaves no time to write {:.0f} MB of packed weights: they are packed when the "
        "package is loaded",
        static_cast<double>(model->packed().bytes()) * 1e-6);
    result.session.reset();
  }
  RETURN_IF_ERROR(SavePackage(where, *model, *result.book, info, programs));
  return where;
}

Result<exec::Plan> LearnedPlans::PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                                         const planner::Limits& limits) {
  if (limits.reference_only) return planner::MakePlan(segment, devices, limits);
  const planner::DecisionKey key = planner::KeyOf(segment, devices, limits);
  const Result<std::string> text = FindStamped(*store_, StoreKey(key));
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
