#include "report/output_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "io/tensor_io.h"
#include "jobs/exit_code.h"
#include "jobs/interrupt.h"
#include "ops/op.h"
#include "report/messages.h"

namespace fettle::tools {
namespace {

/// The step of the grid that an output lies on, where dequantisation with one scale writes it; 0
/// elsewhere.
double QuantisedStep(const ir::Graph& graph, ir::ValueId output) {
  const std::vector<ir::NodeId> producers = graph.Producers();
  ir::ValueId id = output;
  while (producers[static_cast<size_t>(id)] >= 0) {
    const ir::Node& node = graph.node(producers[static_cast<size_t>(id)]);
    if (node.op->Has(ir::Trait::kKeepsBytes) || node.op == "Transpose"_op) {
      id = node.input(0);
      continue;
    }
    if (node.op != "DequantizeLinear"_op || node.input(1) == ir::kAbsent) return 0;
    const ir::Value& scale = graph.value(node.input(1));
    if (!scale.is_constant() || scale.constant->elements() != 1) return 0;
    return std::abs(scale.constant->GetDouble(0));
  }
  return 0;
}

bool IsIndexOperator(ir::OpRef op, size_t output) {
  return op == "ArgMax"_op || op == "ArgMin"_op || (op == "TopK"_op && output == 1);
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

Result<TensorsByName> RunReference(const Job& job, const std::vector<std::string>& extra) {
  const runtime::SessionOptions wanted{
      .threads = job.threads, .reference_only = true, .extra_outputs = extra};
  ASSIGN_OR_RETURN(auto session, runtime::Session::Create(job.model, wanted));
  const InterruptScope interrupt(EndAtOnce);
  TensorsByName outputs;
  RETURN_IF_ERROR(session->Run(job.bound.tensors(), &outputs));
  return outputs;
}

/// Keeps the session behind `session`.
Result<TensorsByName> RunSession(const std::shared_ptr<const runtime::Model>& model, const Job& job,
                                 std::unique_ptr<runtime::Session>& session) {
  ASSIGN_OR_RETURN(session, runtime::Session::Create(model, job.session));
  const InterruptScope interrupt([&] { session->Cancel(); });
  TensorsByName outputs;
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
  const auto axis = NormaliseAxis(node.attributes.Int("axis", node.op == "TopK"_op ? -1 : 0),
                                  scores.shape().rank());
  const bool keeps = node.op == "TopK"_op || node.attributes.Int("keepdims", 1) != 0;
  if (!axis) return InvalidArgument("axis out of range");
  Dims dims = scores.shape().dims();
  const int64_t extent = dims[static_cast<size_t>(*axis)];
  const int64_t inner = scores.shape().Count(*axis + 1, scores.shape().rank());
  const int64_t kept = node.op == "TopK"_op ? positions.shape()[*axis] : 1;
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

/// OK if `other` can run on the inputs of `model` and has its outputs; else the first that differs.
Status CheckCounterpart(const std::string& path, const runtime::Model& model,
                        const runtime::Model& other) {
  const auto names = [](const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
    std::vector<std::string> listed;
    for (const ir::ValueId id : ids) listed.push_back(graph.value(id).name);
    return listed;
  };
  const ir::Graph &mine = model.graph(), &theirs = other.graph();
  const auto inputs = names(mine, mine.inputs), others = names(theirs, theirs.inputs);
  const auto outputs = names(theirs, theirs.outputs);
  for (const std::string& name : inputs)
    if (std::ranges::find(others, name) == others.end())
      return InvalidArgument("--against {}: it has no input '{}'; it has: {}", path, name,
                             fmt::join(others, ", "));
  for (const std::string& name : others)
    if (std::ranges::find(inputs, name) == inputs.end())
      return InvalidArgument("--against {}: its input '{}' is not an input of the model: {}", path,
                             name, fmt::join(inputs, ", "));
  for (const std::string& name : names(mine, mine.outputs))
    if (std::ranges::find(outputs, name) == outputs.end())
      return InvalidArgument("--against {}: it has no output '{}'; it has: {}", path, name,
                             fmt::join(outputs, ", "));
  return OkStatus();
}

/// What the outputs are compared with; of the reference also the values named by `extra`.
Result<TensorsByName> Expected(const Counterpart& with, const Job& job,
                               const std::vector<std::string>& extra) {
  if (with.name == "reference") return RunReference(job, extra);
  if (IsDirectory(with.name)) return ReadExpected(job.model->graph(), with.name);
  ASSIGN_OR_RETURN(const auto other, LoadModel(with.name, {.strict = with.strict}));
  RETURN_IF_ERROR(CheckCounterpart(with.name, *job.model, *other));
  std::unique_ptr<runtime::Session> session;
  Result<TensorsByName> outputs = RunSession(other, job, session);
  if (!outputs.ok()) return outputs.status().WithContext("--against " + with.name);
  return outputs;
}

/// By output that holds positions: the value whose scores they point at, where it can be asked for.
std::map<ir::ValueId, std::string> FindScores(const Job& job) {
  const ir::Graph& graph = job.model->graph();
  std::map<ir::ValueId, std::string> scores;
  for (ir::ValueId id : graph.outputs) {
    const ir::Node* node = IndexProducer(graph, id);
    if (node == nullptr) continue;
    const std::string& name = graph.value(node->input(0)).name;
    if (job.model->imported_graph().FindValue(name)) scores.emplace(id, name);
  }
  return scores;
}

}  // namespace

void EndAtOnce() {
  PrintMessage("fettle: interrupted\n");
  std::_Exit(kExitFailed);
}

Result<OutputComparisons> CompareOutputs(const Counterpart& with, const Job& job, Limits limits) {
  const ir::Graph& graph = job.model->graph();
  const std::map<ir::ValueId, std::string> scores = FindScores(job);
  std::vector<std::string> extra;
  for (const auto& [id, name] : scores) extra.push_back(name);
  OutputComparisons result;
  ASSIGN_OR_RETURN(const TensorsByName got, RunSession(job.model, job, result.session));
  result.steps = result.session->profile();
  limits.floats = FloatRuleOf(UsedPrecision(result.steps));
  result.limits = limits;
  ASSIGN_OR_RETURN(const TensorsByName want, Expected(with, job, extra));
  std::vector<OutputComparison>& comparisons = result.outputs;
  for (ir::ValueId id : graph.outputs) {
    const std::string& name = graph.value(id).name;
    const Tensor &mine = got.at(name), &theirs = want.at(name);
    const auto score = scores.find(id);
    if (score != scores.end() && want.contains(score->second)) {
      comparisons.push_back({name, JudgeIndices(*IndexProducer(graph, id), mine, theirs,
                                                want.at(score->second), limits)});
    } else {
      comparisons.push_back({name, Judge(mine, theirs, limits, QuantisedStep(graph, id))});
    }
  }
  return result;
}

}  // namespace fettle::tools
