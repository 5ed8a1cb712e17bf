// What measuring a whole network costs: every kernel in every state with its default parameters, on
// every group, equal problems once. Says how much of it went where, and repeats the measuring to
// show how far times agree.
// Usage: tuner_bench MODEL.onnx [THREADS]
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>

#include "base/clock.h"
#include "passes/specialise.h"
#include "planner/choices.h"
#include "runtime/model.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/statistics.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file

ir::Graph LoadGraph(const char* path) {
  const std::shared_ptr<const runtime::Model> model = runtime::Model::Load(path).value();
  const std::map<std::string, Shape> shapes = runtime::DefaultShapes(*model, {}, nullptr).value();
  ir::Graph graph = model->graph();
  for (ir::ValueId id : graph.inputs) graph.value(id).shape = shapes.at(graph.value(id).name);
  if (!passes::Specialise(graph).ok()) std::abort();
  return graph;
}

/// The candidates of a graph, equal problems once; the reference only where nothing else works.
std::vector<tuner::Candidate> ListCandidates(const ir::Graph& graph, const CpuDevice& device,
                                             int threads) {
  std::vector<tuner::Candidate> candidates;
  std::set<std::string> seen;
  for (const passes::Group& group : passes::ListGroups(graph)) {
    const planner::GroupChoices choices =
        planner::ListChoices(graph, group, device, {.threads = threads});
    for (const planner::Choice& choice : choices.choices) {
      if (choice.kernel->is_reference()) continue;
      tuner::Candidate candidate{
          choice.kernel, {choices.fragment.graph, choice.states(), threads}, {}};
      candidate.params = DefaultParams(*choice.kernel, candidate.problem, device);
      const tuner::RowKey key = KeyOf(candidate, device);
      if (seen.insert(key.problem + key.kernel).second) candidates.push_back(candidate);
    }
  }
  return candidates;
}

double Seconds(int64_t begin) { return static_cast<double>(NowNs() - begin) * 1e-9; }
/// Of this process's work: what the wall clock would say on an idle machine with one core.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<tuner::Row> MeasureAll(tuner::Bench& bench,
                                   const std::vector<tuner::Candidate>& candidates) {
  std::vector<tuner::Row> rows;
  std::map<std::string, std::pair<int, double>> by_kernel;
  const int64_t begin = NowNs();
  const double cpu_begin = CpuSeconds();
  for (const tuner::Candidate& candidate : candidates) {
    const double one = CpuSeconds();
    rows.push_back(bench.Run(candidate));
    auto& [count, seconds] = by_kernel[std::string(candidate.kernel->name)];
    ++count;
    seconds += CpuSeconds() - one;
    if (rows.back().status != tuner::Row::Status::kOk)
      fmt::print("{}: {}\n", candidate.kernel->name, rows.back().reason);
  }
  fmt::print("{} candidates in {:.2f} s ({:.2f} s of work)\n", rows.size(), Seconds(begin),
             CpuSeconds() - cpu_begin);
  for (const auto& [kernel, cost] : by_kernel)
    fmt::print("  {:32} {:4} candidates {:8.2f} ms of work each\n", kernel, cost.first,
               1e3 * cost.second / cost.first);
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  const ir::Graph graph = LoadGraph(argv[1]);
  const CpuDevice device(std::make_shared<ThreadPool>(threads));
  const std::vector<tuner::Candidate> candidates = ListCandidates(graph, device, threads);
  tuner::Bench bench(device);
  const std::vector<tuner::Row> first = MeasureAll(bench, candidates);
  const std::vector<tuner::Row> second = MeasureAll(bench, candidates);
  std::vector<double> differences;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i].median_us > 0 && second[i].median_us > 0)
      differences.push_back(std::fabs(second[i].median_us / first[i].median_us - 1));
  }
  fmt::print("times differ by {:.1f} % in the median of {} candidates\n",
             100 * tuner::Median(differences), differences.size());
  return 0;
}
