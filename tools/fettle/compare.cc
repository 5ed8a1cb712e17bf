// fettle compare: results against the reference, node by node and end to end.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "command.h"
#include "interrupt.h"
#include "job.h"
#include "judgement.h"
#include "node_comparison.h"
#include "progress.h"
#include "report.h"
#include "table.h"
#include "tensor_io.h"

namespace fettle::tools {
namespace {

struct CompareOptions {
  JobOptions job;
  std::string against = "reference";
  double atol = -1, rtol = -1;  // below 0: not given
  bool nodes = true;

  Limits limits() const {
    Limits limits;
    if (atol >= 0) limits.atol = atol;
    if (rtol >= 0) limits.rtol = rtol;
    return limits;
  }
};

struct OutputComparison {
  std::string name;
  Judgement judgement;
};

/// The step of the grid that an output lies on, where dequantisation with one scale writes it; 0
/// elsewhere.
double QuantisedStep(const ir::Graph& graph, ir::ValueId output) {
  const std::vector<ir::NodeId> producers = graph.Producers();
  ir::ValueId id = output;
  while (producers[static_cast<size_t>(id)] >= 0) {
    const ir::Node& node = graph.node(producers[static_cast<size_t>(id)]);
    static constexpr const char* kMoves[] = {"Reshape",   "Transpose", "Squeeze",
                                             "Unsqueeze", "Flatten",   "Identity"};
    const bool moves = std::any_of(std::begin(kMoves), std::end(kMoves),
                                   [&](const char* op) { return node.op == op; });
    if (moves) {
      id = node.input(0);
      continue;
    }
    if (node.op != "DequantizeLinear" || node.input(1) == ir::kAbsent) return 0;
    const ir::Value& scale = graph.value(node.input(1));
    if (!scale.is_constant() || scale.constant->elements() != 1) return 0;
    return std::abs(scale.constant->GetDouble(0));
  }
  return 0;
}

bool IsIndexOperator(const std::string& op, size_t output) {
  return op == "ArgMax" || op == "ArgMin" || (op == "TopK" && output == 1);
}

/// Whether `id` holds positions (an ArgMax, the second result of a TopK): equal scores may then
/// give other positions.
const ir::Node* IndexProducer(const ir::Graph& graph, ir::ValueId id) {
  const ir::NodeId producer = graph.Producers()[static_cast<size_t>(id)];
  if (producer < 0) return nullptr;
  const ir::Node& node = graph.node(producer);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] == id && IsIndexOperator(node.op, i)) return &node;
  return nullptr;
}

using TensorsByName = std::map<std::string, Tensor>;

Result<TensorsByName> RunSession(const std::shared_ptr<const runtime::Model>& model, const Job& job,
                                 bool reference_only, const std::vector<std::string>& extra) {
  runtime::SessionOptions wanted;
  wanted.threads = job.threads;
  if (!reference_only) wanted = job.session;
  wanted.reference_only = reference_only;
  wanted.extra_outputs = extra;
  ASSIGN_OR_RETURN(auto session, runtime::Session::Create(model, wanted));
  const InterruptScope interrupt([&] { session->Cancel(); });
  std::map<std::string, Tensor> outputs;
  RETURN_IF_ERROR(session->Run(job.bound.tensors(), &outputs));
  return outputs;
}

/// What the files of a folder say: NAME.npy or NAME.pb as `run -o` writes them, or output_N.pb as
/// the ONNX tests do.
Result<TensorsByName> ReadExpected(const ir::Graph& graph, const std::string& directory) {
  std::map<std::string, Tensor> expected;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& name = graph.value(graph.outputs[i]).name;
    const std::string stem = directory + "/" + FileNameFor(name);
    const std::string numbered = fmt::format("{}/output_{}.pb", directory, i);
    for (const std::string& file : {stem + ".npy", stem + ".pb", numbered}) {
      if (!FileExists(file)) continue;
      ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(file));
      expected.emplace(name, std::move(tensor));
      break;
    }
    if (!expected.contains(name))
      return InvalidArgument("--against {}: no file for output '{}'", directory, name);
  }
  return expected;
}

/// The score that each position points at, along the axis of the operator that found it.
Result<Tensor> ScoresAt(const Tensor& positions, const Tensor& scores, const ir::Node& node) {
  const auto axis =
      NormaliseAxis(node.attributes.Int("axis", node.op == "TopK" ? -1 : 0), scores.shape().rank());
  const bool keeps = node.op == "TopK" || node.attributes.Int("keepdims", 1) != 0;
  if (!axis) return InvalidArgument("axis out of range");
  Dims dims = scores.shape().dims();
  const int64_t extent = dims[static_cast<size_t>(*axis)];
  const int64_t inner = scores.shape().Count(*axis + 1, scores.shape().rank());
  const int64_t kept = node.op == "TopK" ? positions.shape()[*axis] : 1;
  if (keeps && positions.shape().rank() != scores.shape().rank())
    return InvalidArgument("shapes differ");
  ASSIGN_OR_RETURN(Tensor out, Tensor::Create(DType::kF64, positions.shape()));
  const HostView from = scores.view(), at = positions.view(), to = out.view();
  for (int64_t i = 0; i < positions.elements(); ++i) {
    const int64_t outer = i / (kept * inner), position = at.GetInt(i);
    if (position < 0 || position >= extent) return InvalidArgument("position out of range");
    to.SetDouble(i, from.GetDouble((outer * extent + position) * inner + i % inner));
  }
  return out;
}

/// Positions agree if the reference's scores at them do.
Judgement JudgeIndices(const ir::Node& node, const Tensor& got, const Tensor& want,
                       const Tensor& scores, const Limits& limits) {
  Judgement plain = Judge(got, want, limits);
  if (plain.ok || got.shape() != want.shape()) return plain;
  const auto got_scores = ScoresAt(got, scores, node), want_scores = ScoresAt(want, scores, node);
  if (!got_scores.ok() || !want_scores.ok()) return plain;
  Judgement judgement = Judge(*got_scores, *want_scores, limits);
  judgement.rule = "the values that the positions point at: " + judgement.rule;
  return judgement;
}

/// What the outputs are compared with; of the reference also the values named by `extra`.
Result<TensorsByName> Expected(const CompareOptions& options, const Job& job,
                               const std::vector<std::string>& extra) {
  if (options.against == "reference") return RunSession(job.model, job, true, extra);
  if (IsDirectory(options.against)) return ReadExpected(job.model->graph(), options.against);
  ASSIGN_OR_RETURN(const auto other, LoadModel(options.against, {.strict = options.job.strict}));
  ASSIGN_OR_RETURN(TensorsByName outputs, RunSession(other, job, false, {}));
  for (ir::ValueId id : job.model->graph().outputs) {
    const std::string& name = job.model->graph().value(id).name;
    if (!outputs.contains(name))
      return InvalidArgument("--against {}: it has no output '{}'", options.against, name);
  }
  return outputs;
}

Result<std::vector<OutputComparison>> CompareOutputs(const CompareOptions& options,
                                                     const Job& job) {
  const ir::Graph& graph = job.model->graph();
  std::map<ir::ValueId, std::string> scores;  // of index outputs
  std::vector<std::string> extra;
  for (ir::ValueId id : graph.outputs) {
    const ir::Node* node = IndexProducer(graph, id);
    if (node == nullptr) continue;
    const std::string& name = graph.value(node->input(0)).name;
    if (!job.model->imported_graph().FindValue(name)) continue;
    scores.emplace(id, name);
    extra.push_back(name);
  }
  ASSIGN_OR_RETURN(const auto got, RunSession(job.model, job, false, {}));
  auto want = Expected(options, job, extra);
  if (!want.ok()) return want.status();
  std::vector<OutputComparison> comparisons;
  for (ir::ValueId id : graph.outputs) {
    const std::string& name = graph.value(id).name;
    const Tensor &mine = got.at(name), &theirs = want->at(name);
    const auto score = scores.find(id);
    if (score != scores.end() && want->contains(score->second)) {
      comparisons.push_back({name, JudgeIndices(*IndexProducer(graph, id), mine, theirs,
                                                want->at(score->second), options.limits())});
    } else {
      comparisons.push_back(
          {name, Judge(mine, theirs, options.limits(), QuantisedStep(graph, id))});
    }
  }
  return comparisons;
}

Json ToleranceJson(const Limits& limits) {
  if (limits.given()) return {{"atol", limits.atol.value_or(0)}, {"rtol", limits.rtol.value_or(0)}};
  return {{"range_share", kRangeShare},
          {"quantised_steps", 1},
          {"quantised_share", 1 - kQuantisedOutliers}};
}

std::string FirstBad(const NodeComparisons& nodes) {
  for (const NodeComparison& node : nodes.nodes)
    if (!node.judgement.ok) return node.node;
  return "";
}

void PrintJsonReport(const CompareOptions& options, const Job& job,
                     const std::vector<OutputComparison>& outputs, const NodeComparisons& nodes) {
  Json document = {{"model", options.job.model}, {"against", options.against}};
  document["outputs"] = Json::array();
  for (const OutputComparison& output : outputs) {
    Json entry = {{"name", output.name}};
    entry.update(JudgementJson(output.judgement));
    entry["rule"] = output.judgement.rule;
    document["outputs"].push_back(std::move(entry));
  }
  document["tolerance"] = ToleranceJson(options.limits());
  const std::string first_bad = FirstBad(nodes);
  document["first_bad_node"] = first_bad.empty() ? Json(nullptr) : Json(first_bad);
  document["nodes"] = Json::array();
  for (const NodeComparison& node : nodes.nodes) {
    Json entry = {{"node", node.node}, {"op", node.op}, {"kernel", node.kernel}};
    entry.update(JudgementJson(node.judgement));
    document["nodes"].push_back(std::move(entry));
  }
  document["nodes_left_out"] = nodes.left_out;
  document["precision"] = PrecisionJson(options.job.common, job.session.accelerator.get());
  document["device"] = DeviceJson(job.threads, job.session.accelerator.get());
  document["warnings"] = job.warnings;
  PrintJson(document);
}

void PrintTables(const CompareOptions& options, const Job& job,
                 const std::vector<OutputComparison>& outputs, const NodeComparisons& nodes) {
  constexpr auto kRight = Table::Align::kRight;
  const auto cells = [](const Judgement& judgement) {
    const Difference& d = judgement.difference;
    return std::vector<std::string>{fmt::format("{:.3g}", d.max_abs),
                                    fmt::format("{:.3g}", d.max_rel),
                                    fmt::format("{:.1f}", d.sqnr_db),
                                    fmt::format("{:.6f}", d.cosine), judgement.ok ? "yes" : "NO"};
  };
  Table table({{"output"},
               {"max abs", kRight},
               {"max rel", kRight},
               {"SQNR dB", kRight},
               {"cosine", kRight},
               {"ok"},
               {"tolerance"}});
  for (const OutputComparison& output : outputs) {
    std::vector<std::string> row = {output.name};
    for (std::string& cell : cells(output.judgement)) row.push_back(std::move(cell));
    row.push_back(output.judgement.rule);
    table.Row(row);
  }
  fmt::print("{}", table.ToString());
  std::vector<NodeComparison> worst = nodes.nodes;
  std::stable_sort(worst.begin(), worst.end(),
                   [](const NodeComparison& a, const NodeComparison& b) {
                     return a.judgement.difference.sqnr_db < b.judgement.difference.sqnr_db;
                   });
  worst.resize(std::min<size_t>(worst.size(), 10));
  Table list({{"node"},
              {"operator"},
              {"kernel"},
              {"max abs", kRight},
              {"max rel", kRight},
              {"SQNR dB", kRight},
              {"cosine", kRight},
              {"ok"}});
  for (const NodeComparison& node : worst) {
    std::vector<std::string> row = {node.node, node.op, node.kernel};
    for (std::string& cell : cells(node.judgement)) row.push_back(std::move(cell));
    list.Row(row);
  }
  if (!worst.empty())
    fmt::print("\n{} groups on the reference's inputs; the least exact:\n{}", nodes.nodes.size(),
               list.ToString());
  if (nodes.left_out > 0)
    fmt::print("{} nodes behind a data-dependent shape or in sub-graphs: by the outputs only\n",
               nodes.left_out);
  const std::string first_bad = FirstBad(nodes);
  if (!first_bad.empty()) fmt::print("first node over the tolerance: {}\n", first_bad);
  fmt::print("{} · {}\n", DeviceLine(job.threads, job.session.accelerator.get()),
             PrecisionLine(options.job.common, job.session.accelerator.get()));
}

int Compare(const CompareOptions& options) {
  InstallLog(options.job.common.log);
  StartInterruptThread();
  if (options.against != "reference" && !IsDirectory(options.against) &&
      !FileExists(options.against)) {
    return Fail(InvalidArgument("--against {}: expected reference, a package or a folder",
                                options.against));
  }
  auto job = MakeJob(options.job);
  if (!job.ok()) return Fail(job.status());
  PrintWarnings(job->warnings);
  auto outputs = CompareOutputs(options, *job);
  if (!outputs.ok()) return Fail(outputs.status());
  NodeComparisons nodes;
  if (options.nodes && options.against == "reference") {
    Progress progress("compare", 0);
    const InterruptScope interrupt([] {});
    auto compared = CompareNodes(
        *job->model, job->bound.tensors(), job->threads, options.limits(),
        [&](double share) { progress.UpdateFraction(share); }, InterruptScope::Interrupted);
    const Status damage = job->model->damage();
    if (!damage.ok()) return Fail(damage);
    if (!compared.ok()) return Fail(compared.status());
    nodes = *std::move(compared);
  }
  if (options.job.common.json) {
    PrintJsonReport(options, *job, *outputs, nodes);
  } else {
    PrintTables(options, *job, *outputs, nodes);
  }
  const bool ok = std::all_of(outputs->begin(), outputs->end(),
                              [](const OutputComparison& output) { return output.judgement.ok; });
  return ok ? kExitOk : kExitDiffers;
}

}  // namespace

void RegisterCompare(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* sub = app.add_subcommand("compare", "results against the reference");
  AddJobOptions(*sub, options->job);
  sub->add_option("--against", options->against,
                  "reference, a package or a folder of expected outputs");
  sub->add_option("--atol", options->atol, "absolute tolerance")->check(CLI::NonNegativeNumber);
  sub->add_option("--rtol", options->rtol, "relative tolerance")->check(CLI::NonNegativeNumber);
  sub->add_flag("!--outputs-only", options->nodes, "leave the node-by-node part out");
  sub->callback([&action, options] { action = [options] { return Compare(*options); }; });
}

}  // namespace fettle::tools
