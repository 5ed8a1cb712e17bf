// One side of a comparison: a session on one network with options of its own, and its turns.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "jobs/tuning.h"
#include "kernels/launch_tunables.h"
#include "planner/planner.h"
#include "tuner/measure/statistics.h"

namespace fettle::tools {

struct SideOptions {
  CommonOptions common;
  bool tuned = false, all_lanes = false;
  std::string groups;  // a rule of work-groups; "": as kernels have them
};

/// Of the options of `fettle bench` that say where and how to run, --tuned, --all-lanes and
/// --groups RULE.
inline Result<SideOptions> ParseSide(const std::string& text) {
  SideOptions side;
  CLI::App app("a side");
  AddCommonOptions(app, side.common);
  app.add_flag("--tuned", side.tuned);
  app.add_flag("--all-lanes", side.all_lanes);
  app.add_option("--groups", side.groups);
  try {
    app.parse(text, /*program_name_included=*/false);
  } catch (const CLI::ParseError& error) {
    return InvalidArgument("--side '{}': {}", text, error.what());
  }
  return side;
}

/// Passes plans on and remembers what their steps are.
class NotedPlans final : public planner::PlanSource {
 public:
  explicit NotedPlans(std::shared_ptr<planner::PlanSource> plans) : plans_(std::move(plans)) {}
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    ASSIGN_OR_RETURN(exec::Plan plan, plans_->PlanFor(segment, devices, limits));
    for (const exec::PlannedStep& step : plan.steps) steps.insert(TextOf(plan, step));
    return plan;
  }
  std::multiset<std::string> steps;

 private:
  static std::string TextOf(const exec::Plan& plan, const exec::PlannedStep& step) {
    std::string text = step.kernel == nullptr ? "convert" : std::string(step.kernel->name);
    for (const auto& [name, value] : step.params) text += fmt::format(" {}={}", name, value);
    if (step.kernel != nullptr) text += fmt::format(" threads {}", step.problem.threads);
    for (const std::vector<int>* tensors : {&step.inputs, &step.outputs})
      for (const int tensor : *tensors)
        text +=
            fmt::format(" {} {}", plan.tensors[tensor].name,
                        StateName(plan.tensors[tensor].state, plan.tensors[tensor].shape.rank()));
    return text;
  }
  std::shared_ptr<planner::PlanSource> plans_;
};

/// Passes plans on with the work-groups that a rule proposes first, where it proposes any.
class RuledPlans final : public planner::PlanSource {
 public:
  RuledPlans(std::shared_ptr<planner::PlanSource> plans, std::string rule)
      : plans_(std::move(plans)), rule_(std::move(rule)) {}
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    ASSIGN_OR_RETURN(exec::Plan plan, plans_->PlanFor(segment, devices, limits));
    for (exec::PlannedStep& step : plan.steps) {
      if (step.match == nullptr || step.kernel->device() == DeviceKind::kCpu) continue;
      RETURN_IF_ERROR(Rule(*devices.Find(step.kernel->device()), step));
    }
    return plan;
  }

 private:
  Status Rule(const Device& device, exec::PlannedStep& step) const {
    ASSIGN_OR_RETURN(
        const auto prepared,
        kernels::PrepareWithLaunches(
            *step.match,
            {step.states_index, step.problem.threads, step.params, step.has_all_params}, device));
    const kernels::TunableLaunches* launches = kernels::LaunchesOf(*prepared);
    if (launches == nullptr) return OkStatus();
    for (const kernels::RuleParams& one : launches->launch_rules()) {
      if (one.rule != rule_) continue;
      for (const auto& [name, value] : one.params) step.params[name] = value;
      step.has_all_params = false;
      break;
    }
    return OkStatus();
  }

  std::shared_ptr<planner::PlanSource> plans_;
  std::string rule_;
};

/// A session with its turns' times.
class Side {
 public:
  Status Open(const SideOptions& options, const std::string& model, double budget) {
    ASSIGN_OR_RETURN(job_, MakeJob({.common = options.common, .model = model}));
    std::shared_ptr<planner::PlanSource> plans = planner::PreferredPlans();
    if (options.tuned) {
      TuningOptions tuning{.budget = budget, .writes_package = false};
      const auto store = tuner::MemoryStore();
      ASSIGN_OR_RETURN(const tuner::TuneModelResult tuned,
                       TuneJob(job_, options.common, tuning, *store));
      plans = planner::PlansOf(tuned.book);
      const tuner::GateResult& gate = tuned.gate;
      const double us = gate.accepted ? gate.challenger_us : gate.incumbent_us;
      if (gate.pairs > 0 && tuned.predicted_us > 0)
        measured_over_predicted_ = us / tuned.predicted_us;
    } else if (job_.model->plans() != nullptr) {
      plans = planner::PlansOf(job_.model->plans());
    }
    if (!options.groups.empty()) plans = std::make_shared<RuledPlans>(plans, options.groups);
    noted_ = std::make_shared<NotedPlans>(std::move(plans));
    runtime::SessionOptions wanted = job_.session;
    wanted.plans = noted_;
    wanted.adapts_lanes = !options.all_lanes;
    ASSIGN_OR_RETURN(session_, runtime::Session::Create(job_.model, std::move(wanted)));
    return Run();
  }

  /// One turn: a run that is not timed, for the caches and workers, then the median of as many as
  /// fit.
  Status Turn(double turn_ms) {
    RETURN_IF_ERROR(Run());
    const int64_t start = NowNs();
    std::vector<double> runs;
    do {
      const int64_t begin = NowNs();
      RETURN_IF_ERROR(Run());
      runs.push_back(MsSince(begin));
    } while (MsSince(start) < turn_ms);
    turns_.push_back(tuner::Median(std::move(runs)));
    return OkStatus();
  }

  const std::vector<double>& turns() const { return turns_; }
  const std::multiset<std::string>& steps() const { return noted_->steps; }
  /// In the comparison at the end of its tuning; 0: not tuned, or not predicted.
  double measured_over_predicted() const { return measured_over_predicted_; }

 private:
  Status Run() { return session_->Run(job_.bound.tensors(), &outputs_); }

  Job job_;
  std::shared_ptr<NotedPlans> noted_;
  std::unique_ptr<runtime::Session> session_;
  runtime::TensorMap outputs_;
  std::vector<double> turns_;
  double measured_over_predicted_ = 0;
};

}  // namespace fettle::tools
