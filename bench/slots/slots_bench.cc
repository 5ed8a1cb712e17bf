// What the search of real slots finds: for the heaviest groups of each model, in the kernel and
// states that the default plan takes, the best time after 8, 16, 32 and 64 evaluations, against
// the lists that tuning had before (the default set with four neighbours; the first sets in order)
// and, where there are few sets, against all of them. Each set is measured once, so that all rows
// speak of the same times.
//
//     slots_bench [--device D] [--threads N] [--slots N] [--exhaustive N] [--json] MODEL...
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "jobs/job.h"
#include "kernels/params_text.h"
#include "planner/planner.h"
#include "tuner/measure/measure.h"
#include "tuner/network/slot_costs.h"

namespace fettle::tools {
namespace {

using Json = nlohmann::ordered_json;
using kernels::Params;
using tuner::Bench;
using tuner::Row;

constexpr int64_t kBudgets[] = {8, 16, 32, 64};
constexpr size_t kListed = 64;

struct Options {
  JobOptions job;
  std::vector<std::string> models;
  size_t slots = 4;
  int64_t exhaustive = 0;
};

/// Keeps the segments that a session comes to.
class Segments final : public planner::PlanSource {
 public:
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    all.push_back(segment);
    return planner::MakePlan(segment, devices, limits);
  }
  std::vector<ir::Graph> all;
};

/// A kernel on a problem, and the times of its sets.
class Subject {
 public:
  Subject(const planner::Kind& kind, const planner::Entry& entry, const Device& device,
          Bench& bench)
      : kind_(kind), entry_(entry), device_(device), bench_(bench) {}

  double TimeOf(const Params& params) { return RowOf(params).median_us; }

  const Row& RowOf(const Params& params) {
    const auto [at, is_new] = rows_.try_emplace(params);
    if (is_new) at->second = bench_.Run({entry_.kernel, kind_.problem(entry_), params});
    return at->second;
  }

  /// The best that a search of so many evaluations finds, and what proposed it.
  planner::EntryCost Search(int64_t evaluations) {
    tuner::SlotSearch slot(entry_.params, {.evaluations = evaluations, .habits = false},
                           [&]() -> std::optional<tuner::SlotSearch::Start> {
                             auto space = Space();
                             if (!space) return std::nullopt;
                             tuner::SlotSearch::Start start{*space, {}};
                             const auto rules = static_cast<size_t>(evaluations) / 4;
                             std::set<Params> seen;
                             for (const planner::Proposal& rule : space->rules())
                               if (start.seeds.size() < rules && seen.insert(rule.params).second)
                                 start.seeds.push_back(rule);
                             start.seeds.insert(start.seeds.end(), space->neighbours().begin(),
                                                space->neighbours().end());
                             return start;
                           });
    while (const auto params = slot.Ask()) slot.Tell(RowOf(*params));
    return slot.cost_as_measured();
  }

  std::optional<tuner::SlotSpace> Space() const {
    return tuner::SlotSpace::Create(entry_.match, entry_.states_index, entry_.threads, device_, {});
  }

  /// The best of the first `most` sets in the order of the kernel's lists, the default one first.
  std::pair<Params, double> Listed(size_t most) {
    if (listed_.empty()) {
      listed_.push_back(entry_.params);
      List(entry_.match->params(entry_.states_index, entry_.threads), entry_.params, 0);
    }
    std::pair<Params, double> best{entry_.params, tuner::kNoLimit};
    for (size_t i = 0; i < std::min(most, listed_.size()); ++i)
      if (Best(listed_[i], best.second)) best.first = listed_[i];
    return best;
  }

  double Neighbours() {
    double best = tuner::kNoLimit;
    Best(entry_.params, best);
    if (const auto space = Space())
      for (const planner::Proposal& one : space->neighbours()) Best(one.params, best);
    return best;
  }

  /// The best of all sets; 0 where they are more than `most`.
  double Exhaustive(int64_t most) {
    const auto space = Space();
    if (!space || space->space().combinations() > static_cast<uint64_t>(most)) return 0;
    double best = tuner::kNoLimit;
    for (uint64_t i = 0; i < space->space().combinations(); ++i) {
      const tuner::Point point = space->space().PointAt(i);
      if (space->space().Valid(point)) Best(space->ParamsOf(point), best);
    }
    return best;
  }

 private:
  /// Whether `params` are better than the best so far.
  bool Best(const Params& params, double& best) {
    const Row& row = RowOf(params);
    if (row.status != Row::Status::kOk || row.median_us >= best) return false;
    best = row.median_us;
    return true;
  }

  void List(const kernels::ParamSpace& own, Params params, size_t depth) {
    if (listed_.size() >= kListed) return;
    if (depth < own.tunables.size()) {
      for (int64_t value : own.tunables[depth].values) {
        params[own.tunables[depth].name] = value;
        List(own, params, depth + 1);
      }
      return;
    }
    if (own.check && !own.check(params).ok()) return;
    if (std::find(listed_.begin(), listed_.end(), params) == listed_.end())
      listed_.push_back(params);
  }

  const planner::Kind& kind_;
  const planner::Entry& entry_;
  const Device& device_;
  Bench& bench_;
  std::map<Params, Row> rows_;
  std::vector<Params> listed_;
};

Json Measure(Subject& subject, int64_t exhaustive) {
  Json json;
  json["neighbours_us"] = subject.Neighbours();
  for (int64_t budget : kBudgets) {
    const planner::EntryCost found = subject.Search(budget);
    if (found.proposal == nullptr) continue;
    const auto [listed, listed_us] = subject.Listed(static_cast<size_t>(budget));
    json["search"].push_back({{"evaluations", budget},
                              {"us", found.us},
                              {"proposed_by", found.proposal->by},
                              {"params", kernels::PrintParams(found.proposal->params)},
                              {"list_us", listed_us},
                              {"list_params", kernels::PrintParams(listed)}});
  }
  const double all = exhaustive > 0 ? subject.Exhaustive(exhaustive) : 0;
  json["exhaustive_us"] = all > 0 ? Json(all) : Json(nullptr);
  return json;
}

void Print(const std::string& model, const Json& slot, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", slot.dump());
  } else {
    std::string line = fmt::format("| {} | {} | {} |", model, slot["kernel"].get<std::string>(),
                                   slot["sets"].get<uint64_t>());
    line += fmt::format(" {:.1f} | {:.1f} |", slot["default_us"].get<double>(),
                        slot["neighbours_us"].get<double>());
    for (const Json& one : slot["search"])
      line +=
          fmt::format(" {:.1f} / {:.1f} |", one["us"].get<double>(), one["list_us"].get<double>());
    line += slot["exhaustive_us"].is_null()
                ? " - |"
                : fmt::format(" {:.1f} |", slot["exhaustive_us"].get<double>());
    fmt::print("{} {} |\n", line, slot["search"].back()["proposed_by"].get<std::string>());
  }
  std::fflush(stdout);
}

Status Run(const Options& options, const std::string& model) {
  JobOptions wanted = options.job;
  wanted.model = model;
  ASSIGN_OR_RETURN(const Job job, MakeJob(wanted));
  const auto segments = std::make_shared<Segments>();
  runtime::SessionOptions session_options = job.session;
  session_options.plans = segments;
  ASSIGN_OR_RETURN(const auto session, runtime::Session::Create(job.model, session_options));
  runtime::TensorMap outputs;
  RETURN_IF_ERROR(session->Run(job.bound.tensors(), &outputs));
  Bench bench(session->devices());
  const auto store = tuner::MemoryStore();
  tuner::LearnedCosts costs(session->devices(), *store);
  const planner::Limits& limits = session->limits();
  const ir::Graph& graph = segments->all.front();
  ASSIGN_OR_RETURN(const planner::Catalogue catalogue,
                   planner::ListCatalogue(graph, session->devices(), limits));
  ASSIGN_OR_RETURN(const planner::Decision preferred,
                   planner::PreferredDecision(graph, session->devices(), limits));
  // By how much there is to do, each kind of group once.
  std::map<const planner::Entry*, std::pair<double, const planner::Kind*>> chosen;
  for (const planner::GroupDecision& group : preferred.groups) {
    for (const planner::Instance& instance : catalogue.instances) {
      if (instance.nodes != group.nodes) continue;
      const planner::Kind& kind = catalogue.kinds[static_cast<size_t>(instance.kind)];
      for (const planner::Entry& entry : kind.entries) {
        if (entry.kernel->name == group.kernel && entry.states == group.states &&
            entry.threads == limits.threads && !entry.is_view)
          chosen[&entry] = {costs.KernelBound(kind, entry), &kind};
      }
    }
  }
  std::vector<std::pair<double, const planner::Entry*>> order;
  for (const auto& [entry, work] : chosen) order.emplace_back(work.first, entry);
  std::sort(order.rbegin(), order.rend());
  size_t shown = 0;
  for (const auto& [bound_us, entry] : order) {
    const Device& device = *session->devices().Find(entry->kernel->device());
    Subject subject(*chosen[entry].second, *entry, device, bench);
    const auto space = subject.Space();
    if (!space || space->space().combinations() < 6) continue;
    Json slot{{"model", model},
              {"kernel", entry->kernel->name},
              {"problem", chosen[entry].second->text},
              {"threads", entry->threads},
              {"sets", space->space().combinations()},
              {"default_us", subject.TimeOf(entry->params)}};
    slot.update(Measure(subject, options.exhaustive));
    if (slot.contains("search"))
      Print(model.substr(model.rfind('/') + 1), slot, options.job.common.json);
    if (++shown == options.slots) break;
  }
  return OkStatus();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("what the search of real slots finds");
  AddCommonOptions(app, options.job.common);
  app.add_option("MODEL", options.models)->required();
  app.add_option("--slots", options.slots, "of each model, the heaviest first (4)");
  app.add_option("--exhaustive", options.exhaustive,
                 "measures all sets of slots that have no more");
  CLI11_PARSE(app, argc, argv);
  if (!options.job.common.json)
    fmt::print(
        "| model | kernel | sets | default us | neighbours | 8: search / list | 16 | 32 | 64 | all "
        "| proposed by |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
  int failures = 0;
  for (const std::string& model : options.models) {
    const Status status = Run(options, model);
    if (status.ok()) continue;
    fmt::print(stderr, "slots_bench: {}: {}\n", model, status.message());
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fettle::tools

int main(int argc, char** argv) { return fettle::tools::Main(argc, argv); }
