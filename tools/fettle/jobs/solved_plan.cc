#include "jobs/solved_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "io/tensor_io.h"
#include "jobs/plans.h"
#include "passes/binary/binarise.h"
#include "passes/quantise/byte_moves.h"
#include "planner/planner.h"
#include "planner/restrict.h"
#include "report/terminal.h"
#include "solver/problem/live_bytes.h"
#include "tuner/cost/calibrated_costs.h"
#include "tuner/cost/residency.h"
#include "tuner/model/kept_plans.h"
#include "tuner/network/slot_costs.h"
#include "tuner/predict/predicted_costs.h"
#include "tuner/store/database.h"
#include "tuner/store/database_file.h"

namespace fettle::tools {
namespace {

/// Keeps the segments that a session comes to.
class SegmentCollector final : public planner::PlanSource {
 public:
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    segments.push_back(segment);
    return planner::MakePlan(segment, devices, limits);
  }
  std::vector<ir::Graph> segments;
};

/// One line for each convolution and product of a network that runs some of them on bits.
void ListOnBits(const ir::Graph& graph, Solved& solved) {
  const std::vector<passes::BinaryFact> facts = passes::ListBinary(graph);
  const auto is_binary = [](const passes::BinaryFact& fact) { return fact.is_binary; };
  if (std::none_of(facts.begin(), facts.end(), is_binary)) return;
  for (const passes::BinaryFact& fact : facts) {
    solved.notes.push_back(fmt::format("{}: {}: {}", fact.is_binary ? "on bits" : "not on bits",
                                       graph.node(fact.node).name, fact.text));
  }
}

/// One line for each operator that moves or selects dequantised floats, with what kept bytes out.
void ListInFloats(const ir::Graph& graph, Solved& solved) {
  for (const passes::MovedInFloat& moved : passes::ListMovedInFloat(graph)) {
    const ir::Node& node = graph.node(moved.node);
    solved.notes.push_back(
        fmt::format("in floats: {} ({}): {}", node.name, std::string_view(node.op), moved.reason));
  }
}

/// Where segments are planned for: here, or on a device that is not here.
struct Place {
  DeviceSet devices;
  const planner::Limits& limits;
  tuner::Store& store;
  const ForeignPlace* foreign = nullptr;
};

/// One segment, from what is known of it to what was decided.
struct Segment {
  const ir::Graph& graph;
  const Place& place;
  planner::Catalogue catalogue;
  /// What other devices say, where nothing was measured on this one.
  std::optional<tuner::PredictedCosts> predicted;
  planner::CostSource& CostsOr(planner::CostSource& known) {
    return predicted ? static_cast<planner::CostSource&>(*predicted) : known;
  }
  planner::Extracted extracted;
  solver::Solution solution;
  planner::Decision decision;
};

/// The problem of the segment; of one layout, where --solver asks for that.
Status Extract(const PlanOptions& options, tuner::Level level, planner::CostSource& costs,
               tuner::LearnedCosts& learned, Segment& segment) {
  const planner::Limits& limits = segment.place.limits;
  const DeviceSet& devices = segment.place.devices;
  ASSIGN_OR_RETURN(segment.catalogue, planner::ListCatalogue(segment.graph, devices, limits));
  ASSIGN_OR_RETURN(const planner::Decision preferred,
                   planner::PreferredDecision(segment.graph, devices, limits));
  const auto extract = [&] {
    return planner::Extract(segment.graph, segment.catalogue, segment.CostsOr(costs),
                            limits.threads, tuner::AssumptionsOf(level), ToBounds(options.bounds),
                            &preferred);
  };
  // What is known of some entries bounds others, so all are asked for first.
  RETURN_IF_ERROR(extract().status());
  if (std::optional<tuner::TimeModel> model = tuner::ModelForUnseen(learned)) {
    segment.predicted.emplace(costs, learned, *std::move(model));
    segment.predicted->Favour(segment.catalogue, preferred, limits.threads);
  }
  ASSIGN_OR_RETURN(segment.extracted, extract());
  if (!options.IsOfOneLayout()) {
    // Bounds alone choose what nobody has tried.
    if (segment.place.foreign != nullptr && learned.known() == 0 && !segment.predicted)
      planner::RestrictToDecision(preferred, segment.catalogue, limits.threads, segment.extracted);
    return OkStatus();
  }
  return planner::RestrictToLayout(options.solver.substr(7), segment.graph, segment.extracted);
}

Status Solve(const PlanOptions& options, Segment& segment, Solved& solved) {
  const bool one_layout = options.IsOfOneLayout();
  const solver::Options solve{.method = one_layout ? std::string_view("auto") : options.solver,
                              .seconds = options.seconds,
                              .seed = options.job.common.seed};
  const int64_t start = NowNs();
  ASSIGN_OR_RETURN(segment.solution,
                   solver::Solve(segment.extracted.problem, solve, &solved.report));
  solved.solve_seconds += static_cast<double>(NowNs() - start) * 1e-9;
  solved.cost_us += segment.solution.cost;
  solved.bound_us += one_layout ? 0 : segment.solution.bound;  // other layouts may cost less
  for (const planner::Instance& instance : segment.catalogue.instances)
    solved.before +=
        std::ssize(segment.catalogue.kinds[static_cast<size_t>(instance.kind)].entries);
  solved.after += solved.report.choices_after;
  segment.decision = planner::ToDecision(segment.graph, segment.catalogue, segment.extracted,
                                         segment.solution, segment.place.limits.threads);
  return OkStatus();
}

/// Groups, conversions and steps of the plan, with what each costs.
void ListChoices(Segment& segment, planner::CostSource& costs, Solved& solved) {
  if (segment.predicted) solved.predicted = segment.predicted->Text();
  const ir::Graph& graph = segment.graph;
  for (planner::Explained& group :
       planner::Explain(graph, segment.catalogue, segment.extracted, segment.solution, costs)) {
    solved.unmeasured += group.measured ? 0 : 1;
    solved.predicted_groups += group.predicted > 0 ? 1 : 0;
    solved.alone_us += group.alone_us;
    solved.groups.push_back(std::move(group));
  }
  for (const planner::ConversionDecision& conversion : segment.decision.conversions) {
    const ir::Value& value = graph.value(conversion.value);
    const double alone = costs
                             .Conversion(*value.shape, value.dtype, conversion.from, conversion.to,
                                         segment.place.limits.threads)
                             .alone_us;
    solved.alone_us += alone;
    solved.conversions.push_back(ConversionJson(graph, conversion));
    solved.conversions.back()["alone_ms"] = alone * 1e-3;
  }
  for (exec::StepProfile& step : StepsOf(graph, segment.decision))
    solved.steps.push_back(std::move(step));
  std::ranges::move(segment.extracted.warnings, std::back_inserter(solved.warnings));
}

/// How far the plan in use is another one.
Status CompareWithUse(const Segment& segment, planner::PlanSource& in_use, Solved& solved) {
  const DeviceSet& devices = segment.place.devices;
  const planner::Limits& limits = segment.place.limits;
  ASSIGN_OR_RETURN(const exec::Plan shown,
                   planner::Apply(segment.graph, segment.decision, devices, limits.threads));
  ASSIGN_OR_RETURN(const exec::Plan used, in_use.PlanFor(segment.graph, devices, limits));
  CountDiffering(shown, used, devices, solved.in_use);
  for (const exec::StepChain& chain : used.chains)
    solved.notes.push_back(
        fmt::format("in one launch: steps {} to {} of the plan that run and "
                    "bench take",
                    chain.begin, chain.end - 1));
  return OkStatus();
}

/// What tuner::ConstantsAreCold finds out on a machine that is there.
bool OutgrowsCaches(const ir::Graph& graph, const CpuInfo& info) {
  int64_t bytes = 0;
  for (const ir::Value& value : graph.values())
    if (value.constant) bytes += StorageBytes(value.dtype, value.constant->elements());
  return info.l3_bytes > 0 && bytes > info.l3_bytes;
}

Status SolveSegment(const PlanOptions& options, const ir::Graph& graph, const Place& place,
                    planner::PlanSource& in_use, Solved& solved) {
  const planner::Limits& limits = place.limits;
  const DeviceSet& devices = place.devices;
  tuner::Store& store = place.store;
  ASSIGN_OR_RETURN(const exec::Plan first, planner::MakePlan(graph, devices, limits));
  ASSIGN_OR_RETURN(const tuner::Level level, tuner::LevelFromName(options.level));
  tuner::SlotCosts alone(devices, store,
                         tuner::SlotOptionsOf(level, limits.precision != planner::Precision::kHigh),
                         place.foreign != nullptr ? OutgrowsCaches(graph, GetCpuInfo())
                                                  : tuner::ConstantsAreCold(first, GetCpuInfo()));
  alone.learned().AssumeEfficiency(tuner::EfficiencyOf(level));
  // Kernels of an accelerator are built to say what they work in; of a device elsewhere they
  // cannot.
  const bool counts_bytes = (devices.beside_cpu().empty() && place.foreign == nullptr) ||
                            options.bounds.memory_limit_mb > 0;
  tuner::CalibratedCosts costs(alone, devices, store, counts_bytes);
  Segment segment{.graph = graph, .place = place};
  RETURN_IF_ERROR(Extract(options, level, costs, alone.learned(), segment));
  solved.rows += alone.learned().known();
  RETURN_IF_ERROR(Solve(options, segment, solved));
  ListChoices(segment, segment.CostsOr(costs), solved);
  RETURN_IF_ERROR(CompareWithUse(segment, in_use, solved));
  const solver::Problem& problem = segment.extracted.problem;
  if (counts_bytes) {
    for (int64_t bytes : solver::LiveBytes(problem, segment.solution))
      solved.held_bytes = std::max(solved.held_bytes, bytes);
  }
  Append(problem, solved.problem);
  if (options.explain) {
    ListOnBits(graph, solved);
    ListInFloats(graph, solved);
    const auto tried =
        tuner::FindChains(planner::KeyOf(graph, devices, limits), /*plan=*/"", store);
    if (tried.ok())
      for (const tuner::TriedChain& one : *tried)
        solved.notes.push_back("tried: " + tuner::ChainText(one));
  }
  return OkStatus();
}

/// A database that was asked for by name must be one.
Status CheckCosts(const PlanOptions& options) {
  if (options.costs.empty()) return OkStatus();
  if (!FileExists(options.costs))
    return Error(StatusCode::kNotFound, "--costs {}: no such file", options.costs);
  const auto readable = tuner::Database::Open(options.costs, tuner::Database::Access::kRead);
  return AsInvalidInput(readable.status());
}

/// The file that a plan for another device takes costs from; "" for none.
std::string DatabaseFor(const PlanOptions& options) {
  if (!options.costs.empty()) return options.costs;
  const std::string path = tuner::DatabasePath(options.job.common.cache);
  return options.job.common.no_cache || !FileExists(path) ? "" : path;
}

/// The plans that run and bench take, of the package that --package names.
Result<ChosenPlans> PlansInUse(const PlanOptions& options, const Job& job, Solved& solved) {
  if (options.package.empty()) return ChoosePlans(job, options.job, {});
  ASSIGN_OR_RETURN(const auto package,
                   LoadModel(options.package, {.strict = options.job.strict,
                                               .accelerators = job.session.beside_cpu()}));
  if (package->package() == nullptr)
    return InvalidArgument("--package {}: is not a package", options.package);
  std::ranges::copy(package->warnings(), std::back_inserter(solved.warnings));
  ChosenPlans chosen;
  if (package->plans() == nullptr) return chosen;
  const auto plans = std::make_shared<PackagePlans>(package->plans());
  chosen.package = plans;
  chosen.source = plans;
  return chosen;
}

Status SolveHere(const PlanOptions& options, const Job& job, const std::vector<ir::Graph>& segments,
                 const runtime::Session& session, Solved& solved) {
  const std::shared_ptr<tuner::Store> store =
      options.costs.empty() ? StoreFor(options.job.common)
                            : std::shared_ptr<tuner::Store>(tuner::OpenStore("", options.costs));
  ASSIGN_OR_RETURN(const ChosenPlans chosen, PlansInUse(options, job, solved));
  const std::shared_ptr<planner::PlanSource> in_use =
      chosen.source == nullptr ? planner::PreferredPlans() : chosen.source;
  const Place place{session.devices(), session.limits(), *store};
  for (const ir::Graph& segment : segments)
    RETURN_IF_ERROR(SolveSegment(options, segment, place, *in_use, solved));
  solved.in_use.origin = OriginOf(chosen);
  solved.regime = FindRegime(chosen, segments, session);
  if (!options.package.empty() && solved.in_use.origin == "preferences")
    solved.warnings.push_back(
        fmt::format("--package {}: has no plan for this model as it is run here", options.package));
  return OkStatus();
}

Status SolveThere(const PlanOptions& options, const DeviceFacts& facts,
                  const std::vector<ir::Graph>& segments, Solved& solved) {
  ASSIGN_OR_RETURN(ForeignPlace made, AssumePlace(facts, options.job.common, DatabaseFor(options)));
  const auto foreign = std::make_shared<const ForeignPlace>(std::move(made));
  solved.foreign = foreign;
  std::ranges::copy(foreign->warnings, std::back_inserter(solved.warnings));
  ChosenPlans chosen{.store = foreign->store};
  const auto learned = std::make_shared<tuner::LearnedPlans>(foreign->store);
  chosen.learned = learned;
  const Place place{foreign->devices(), foreign->limits, *foreign->store, foreign.get()};
  for (const ir::Graph& segment : segments)
    RETURN_IF_ERROR(SolveSegment(options, segment, place, *learned, solved));
  solved.in_use.origin = OriginOf(chosen);
  return OkStatus();
}

}  // namespace

std::string Solved::ForeignText() const {
  if (foreign == nullptr) return "";
  const std::string begin =
      fmt::format("for the device of {}, where nothing runs now: ", foreign->file);
  if (rows == 0 && !predicted.empty()) return begin + predicted + "; nothing was measured there";
  if (rows == 0)
    return begin +
           "the default plan there, predicted from rules and ceilings; nothing was measured";
  return begin +
         fmt::format("costs from {} measured there, bounds for the rest", Count(rows, "row"));
}

Json Solved::ForeignJson() const {
  const char* const by = rows > 0 ? "rows" : predicted.empty() ? "rules" : "other devices";
  return {{"facts", foreign->file}, {"rows", rows}, {"by", by}};
}

Result<Solved> SolveModel(const PlanOptions& options, const Job& job, const DeviceFacts* facts) {
  const auto collector = std::make_shared<SegmentCollector>();
  runtime::SessionOptions wanted = job.session;
  wanted.plans = collector;
  ASSIGN_OR_RETURN(const auto session, runtime::Session::Create(job.model, wanted));
  runtime::TensorMap outputs;
  RETURN_IF_ERROR(session->Run(job.bound.tensors(), &outputs));
  RETURN_IF_ERROR(CheckCosts(options));
  const std::vector<ir::Graph>& segments = collector->segments;
  Solved solved;
  RETURN_IF_ERROR(facts != nullptr ? SolveThere(options, *facts, segments, solved)
                                   : SolveHere(options, job, segments, *session, solved));
  if (!options.dump_problem.empty()) {
    const Status written = WriteTextFile(options.dump_problem, solver::Print(solved.problem));
    if (!written.ok()) return AsWriteFailure(written);
  }
  return solved;
}

}  // namespace fettle::tools
