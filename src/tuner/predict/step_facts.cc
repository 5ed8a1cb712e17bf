#include "tuner/predict/step_facts.h"

#include <bit>
#include <charconv>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/words.h"
#include "kernels/backend.h"
#include "kernels/work.h"
#include "ops/op.h"
#include "tensor/shape_text.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

/// Beyond these a text is no problem that anybody measured; products of two stay far below 2^63.
constexpr int64_t kMostProblemElements = int64_t{1} << 30;
constexpr size_t kLongestProblemText = 1 << 20;
constexpr int kMostProblemThreads = 4096;

uint64_t ProblemHash(std::string_view kernel, std::string_view problem) {
  return HashText(problem, HashText(kernel));
}

Result<int> ParseThreads(std::string_view text) {
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1 ||
      threads > kMostProblemThreads)
    return InvalidArgument("'{}' is no number of threads", text);
  return threads;
}

Result<std::vector<State>> ParseStates(std::string_view line, const ir::Graph& group,
                                       const std::vector<ir::ValueId>& ids) {
  std::vector<State> states;
  for (ir::ValueId id : ids) {
    if (!group.value(id).shape) return InvalidArgument("a shape is not known");
    ASSIGN_OR_RETURN(const State state,
                     StateFromName(TakeWord(line), group.value(id).shape->rank()));
    states.push_back(state);
  }
  return states;
}

/// Work is counted in 64 bits.
Status CheckSizes(const ir::Graph& group) {
  for (const ir::Value& value : group.values()) {
    if (!value.shape) continue;
    const std::optional<int64_t> elements = value.shape->CheckedElements();
    if (!elements || *elements > kMostProblemElements)
      return InvalidArgument("a value is too large");
  }
  for (const ir::Node& node : group.nodes()) {
    double window = 1;
    for (int64_t extent : node.attributes.Ints("kernel_shape"))
      window *= static_cast<double>(extent);
    if (!(window >= 0 && window <= static_cast<double>(kMostProblemElements)))
      return InvalidArgument("a window is too large");
  }
  return OkStatus();
}

Result<StepFacts> FactsOfProblem(const RowKey& key, const kernels::KernelDesc& kernel) {
  std::string_view rest = key.problem;
  std::string_view threads = TakeLine(rest), inputs = TakeLine(rest), outputs = TakeLine(rest);
  if (TakeWord(threads) != "threads" || TakeWord(inputs) != "inputs" ||
      TakeWord(outputs) != "outputs")
    return InvalidArgument("no problem");
  kernels::Problem problem;
  ASSIGN_OR_RETURN(problem.threads, ParseThreads(threads));
  ASSIGN_OR_RETURN(ir::Graph group, ops::Parse(rest));
  RETURN_IF_ERROR(CheckSizes(group));
  ASSIGN_OR_RETURN(problem.states.inputs, ParseStates(inputs, group, group.inputs));
  ASSIGN_OR_RETURN(problem.states.outputs, ParseStates(outputs, group, group.outputs));
  for (const ir::Node& node : group.nodes())
    for (const auto& ids : {node.inputs, node.outputs})
      for (ir::ValueId id : ids)
        if (id != ir::kAbsent && !group.value(id).shape)
          return InvalidArgument("a shape is not known");
  problem.group = std::make_shared<const ir::Graph>(std::move(group));
  return FactsOf(kernel, problem, key.problem, key.protocol == kColdProtocol, key.device);
}

/// "convert f32[1x8x4x4] NHWC NCHW threads 2", as ConversionKey writes it.
Result<StepFacts> FactsOfCopy(std::string_view text, std::string_view fingerprint) {
  TakeWord(text);
  std::string_view type = TakeWord(text);
  const std::string_view from = TakeWord(text), to = TakeWord(text), word = TakeWord(text);
  const size_t bracket = type.find('[');
  if (word != "threads" || bracket == std::string_view::npos || !type.ends_with(']'))
    return InvalidArgument("no conversion");
  ASSIGN_OR_RETURN(const int threads, ParseThreads(text));
  const std::optional<Shape> shape =
      ShapeFromText(type.substr(bracket + 1, type.size() - bracket - 2));
  if (!shape || shape->CheckedElements().value_or(kMostProblemElements) >= kMostProblemElements)
    return InvalidArgument("no shape");
  ASSIGN_OR_RETURN(const State first, StateFromName(from, shape->rank()));
  ASSIGN_OR_RETURN(const State second, StateFromName(to, shape->rank()));
  return FactsOfConversion(*shape, first, second, threads, fingerprint);
}

/// "Conv/8": of 8 to 15 channels a group. Kernels for few and for many have nothing in common.
std::string NameOfNode(const kernels::Problem& problem, const ir::Node& node) {
  constexpr size_t kWeights = 1;
  std::string name(std::string_view(node.op));
  if (node.attributes.Int("group", 1) <= 1) return name;
  uint64_t channels = 0;
  if (node.inputs.size() > kWeights && node.inputs[kWeights] != ir::kAbsent) {
    const Shape& weights = problem.shape(node.inputs[kWeights]);
    if (weights.rank() > 1 && weights[1] > 0) channels = static_cast<uint64_t>(weights[1]);
  }
  return name + fmt::format("/{}", std::bit_floor(channels));
}

}  // namespace

std::string InstructionsOf(std::string_view fingerprint) {
  constexpr size_t kLongestName = 32;
  constexpr std::string_view kSets[] = {"avx512", "avx2", "neon"};
  const size_t bar = fingerprint.find('|');
  if (bar == std::string_view::npos) {
    const std::string_view sets = fingerprint.substr(fingerprint.rfind(';') + 1);
    for (const std::string_view set : kSets)
      if (sets.find(set) != std::string_view::npos) return std::string(set);
    return "baseline";
  }
  std::string_view rest = fingerprint;
  // Backend, platform and name stand before the maker.
  for (int i = 0; i < 3; ++i) TakeUntil('|', rest);
  std::string maker(TakeUntil('|', rest).substr(0, kLongestName));
  for (char& c : maker)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
  return maker.empty() ? "unknown" : maker;
}

StepFacts FactsOf(const kernels::KernelDesc& kernel, const kernels::Problem& problem,
                  std::string_view problem_text, bool cold, std::string_view fingerprint) {
  StepFacts facts{.kernel = std::string(kernel.name),
                  .instructions = InstructionsOf(fingerprint),
                  .device = kernel.device(),
                  .threads = problem.threads,
                  .cold = cold,
                  .work = kernels::WorkOf(kernel, problem, nullptr, {}),
                  .problem = ProblemHash(kernel.name, problem_text)};
  const auto add = [](std::string& text, const std::string& name) {
    text += (text.empty() ? "" : "+") + name;
  };
  for (const ir::Node& node : problem.group->nodes()) {
    const std::string name = NameOfNode(problem, node);
    add(facts.way, name);
    if (ops::OperatorOf(node).macs != nullptr) add(facts.family, name);
  }
  if (facts.family.empty()) facts.family = facts.way.substr(0, facts.way.find('+'));
  return facts;
}

StepFacts FactsOfConversion(const Shape& shape, const State& from, const State& to, int threads,
                            std::string_view fingerprint) {
  const std::string way =
      fmt::format("{}>{}", StateName(from, shape.rank()), StateName(to, shape.rank()));
  return {.kernel = "cpu.convert",
          .family = "copy",
          .way = way,
          .instructions = InstructionsOf(fingerprint),
          .device = kernels::ConversionDevice(from, to),
          .threads = threads,
          .work = {.bytes = static_cast<double>(StateBytes(shape, from) + StateBytes(shape, to))},
          .problem = ProblemHash(way, fmt::format("{} {}", shape.ToString(), threads))};
}

Result<StepFacts> FactsOf(const RowKey& key) {
  if (key.problem.size() > kLongestProblemText) return InvalidArgument("the text is too long");
  if (key.problem.starts_with("convert ")) return FactsOfCopy(key.problem, key.device);
  const kernels::KernelDesc* kernel = kernels::FindKernel(key.kernel);
  if (kernel == nullptr || kernel->version != key.version)
    return Unsupported("kernel {} is not in this build", key.kernel);
  return FactsOfProblem(key, *kernel);
}

}  // namespace fettle::tuner
