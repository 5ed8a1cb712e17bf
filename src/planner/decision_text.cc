// The text form of a decision:
//
//     decision 1
//     predicted 812.5 measured 830 gap 0 seed 1
//     for 1x3x32x320
//     group 0 1 kernel cpu.conv.gemm.nhwc version 1 threads 0 us 103.25
//     params panels=2,rows=24
//     inputs cpu:host:NHWC:f32
//     outputs cpu:host:NHWC:f32
//     convert 12 cpu:host:NHWC:f32 cpu:host:row:f32 us 3
//     chain 4 12 groups 132
#include <fmt/format.h>

#include <charconv>

#include "kernels/params_text.h"
#include "passes/groups.h"
#include "planner/decision.h"
#include "tensor/shape_text.h"

namespace fettle::planner {
namespace {

constexpr int kFormat = 1;

int Rank(const ir::Graph& graph, ir::ValueId id) { return graph.value(id).shape->rank(); }

void AppendStates(std::string& text, std::string_view word, const ir::Graph& graph,
                  const std::vector<ir::ValueId>& ids, const std::vector<State>& states) {
  text += word;
  for (size_t i = 0; i < ids.size(); ++i) text += " " + StateName(states[i], Rank(graph, ids[i]));
  text += '\n';
}

/// Words of a text, line by line.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool AtEnd() const { return rest_.empty(); }

  void NextLine() {
    const size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    ++number_;
  }

  std::string_view Word() {
    while (line_.starts_with(' ')) line_.remove_prefix(1);
    const std::string_view word = line_.substr(0, line_.find(' '));
    line_.remove_prefix(word.size());
    return word;
  }

  /// The next word, which must be `word`.
  Status Expect(std::string_view word) {
    const std::string_view got = Word();
    if (got == word) return OkStatus();
    return Failure(fmt::format("expected '{}', got '{}'", word, got.substr(0, 40)));
  }

  template <typename T>
  Result<T> Number() {
    const std::string_view word = Word();
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      return Failure(fmt::format("expected a number, got '{}'", word.substr(0, 40)));
    return value;
  }

  /// What is left of the line.
  std::string_view Rest() {
    while (line_.starts_with(' ')) line_.remove_prefix(1);
    return std::exchange(line_, {});
  }

  /// `word` and the number behind it.
  template <typename T>
  Result<T> Field(std::string_view word) {
    RETURN_IF_ERROR(Expect(word));
    return Number<T>();
  }

  Status Failure(std::string_view what) const {
    return Error(StatusCode::kCorrupt, "decision, line {}: {}", number_, what);
  }

 private:
  std::string_view rest_, line_;
  int number_ = 0;
};

Status ReadStates(Reader& reader, std::string_view word, const ir::Graph& graph,
                  const std::vector<ir::ValueId>& ids, std::vector<State>& states) {
  reader.NextLine();
  RETURN_IF_ERROR(reader.Expect(word));
  for (ir::ValueId id : ids) {
    Result<State> state = StateFromName(reader.Word(), Rank(graph, id));
    if (!state.ok()) return reader.Failure(state.status().message());
    states.push_back(*state);
  }
  return reader.Word().empty() ? OkStatus() : reader.Failure("more states than operands");
}

Status ReadParams(Reader& reader, kernels::Params& params) {
  reader.NextLine();
  RETURN_IF_ERROR(reader.Expect("params"));
  std::optional<kernels::Params> read = kernels::ParseParams(reader.Rest());
  if (!read) return reader.Failure("expected name=value,...");
  params = *std::move(read);
  return OkStatus();
}

Result<GroupDecision> ReadGroup(Reader& reader, const ir::Graph& graph,
                                passes::GroupCutter& cutter) {
  GroupDecision group;
  std::string_view word = reader.Word();
  for (; !word.empty() && word != "kernel"; word = reader.Word()) {
    ir::NodeId node = -1;
    std::from_chars(word.data(), word.data() + word.size(), node);
    if (node < 0 || node >= std::ssize(graph.nodes()) ||
        (!group.nodes.empty() && node <= group.nodes.back())) {
      return reader.Failure(fmt::format("no such node: '{}'", word.substr(0, 40)));
    }
    group.nodes.push_back(node);
  }
  if (group.nodes.empty() || word.empty()) return reader.Failure("expected nodes and a kernel");
  group.kernel = reader.Word();
  ASSIGN_OR_RETURN(group.version, reader.Field<int>("version"));
  ASSIGN_OR_RETURN(group.threads, reader.Field<int>("threads"));
  ASSIGN_OR_RETURN(group.us, reader.Field<double>("us"));
  if (group.threads < 0) return reader.Failure("threads: expected 0 or more");
  RETURN_IF_ERROR(ReadParams(reader, group.params));
  const passes::Fragment fragment = cutter.Cut(group.nodes);
  RETURN_IF_ERROR(ReadStates(reader, "inputs", graph, fragment.inputs, group.states.inputs));
  RETURN_IF_ERROR(ReadStates(reader, "outputs", graph, fragment.outputs, group.states.outputs));
  return group;
}

Result<ConversionDecision> ReadConversion(Reader& reader, const ir::Graph& graph) {
  ConversionDecision conversion;
  ASSIGN_OR_RETURN(conversion.value, reader.Number<ir::ValueId>());
  if (conversion.value < 0 || conversion.value >= std::ssize(graph.values()) ||
      !graph.value(conversion.value).has_concrete_shape()) {
    return reader.Failure("no such value");
  }
  const int rank = Rank(graph, conversion.value);
  for (State* state : {&conversion.from, &conversion.to}) {
    Result<State> read = StateFromName(reader.Word(), rank);
    if (!read.ok()) return reader.Failure(read.status().message());
    *state = *read;
  }
  ASSIGN_OR_RETURN(conversion.us, reader.Field<double>("us"));
  return conversion;
}

}  // namespace

std::string PrintDecision(const ir::Graph& graph, const Decision& decision) {
  std::string text =
      fmt::format("decision {}\npredicted {} measured {} gap {} seed {}\n", kFormat,
                  decision.predicted_us, decision.measured_us, decision.gap, decision.seed);
  if (!decision.made_for.empty()) text += "for " + ShapesText(decision.made_for) + "\n";
  passes::GroupCutter cutter(graph);
  for (const GroupDecision& group : decision.groups) {
    const passes::Fragment fragment = cutter.Cut(group.nodes);
    text += "group";
    for (ir::NodeId node : group.nodes) text += fmt::format(" {}", node);
    text += fmt::format(" kernel {} version {} threads {} us {}\nparams{}{}\n", group.kernel,
                        group.version, group.threads, group.us, group.params.empty() ? "" : " ",
                        kernels::PrintParams(group.params));
    AppendStates(text, "inputs", graph, fragment.inputs, group.states.inputs);
    AppendStates(text, "outputs", graph, fragment.outputs, group.states.outputs);
  }
  for (const ConversionDecision& conversion : decision.conversions) {
    const int rank = Rank(graph, conversion.value);
    text +=
        fmt::format("convert {} {} {} us {}\n", conversion.value, StateName(conversion.from, rank),
                    StateName(conversion.to, rank), conversion.us);
  }
  for (const exec::StepChain& chain : decision.chains)
    text += fmt::format("chain {} {} groups {}\n", chain.begin, chain.end, chain.groups);
  return text;
}

Result<Decision> ParseDecision(const ir::Graph& graph, std::string_view text) {
  Reader reader(text);
  Decision decision;
  passes::GroupCutter cutter(graph);
  reader.NextLine();
  ASSIGN_OR_RETURN(const int format, reader.Field<int>("decision"));
  if (format != kFormat)
    return reader.Failure(fmt::format("format {}, this is {}", format, kFormat));
  reader.NextLine();
  ASSIGN_OR_RETURN(decision.predicted_us, reader.Field<double>("predicted"));
  ASSIGN_OR_RETURN(decision.measured_us, reader.Field<double>("measured"));
  ASSIGN_OR_RETURN(decision.gap, reader.Field<double>("gap"));
  ASSIGN_OR_RETURN(decision.seed, reader.Field<uint64_t>("seed"));
  while (!reader.AtEnd()) {
    reader.NextLine();
    const std::string_view word = reader.Word();
    if (word == "group") {
      ASSIGN_OR_RETURN(GroupDecision group, ReadGroup(reader, graph, cutter));
      decision.groups.push_back(std::move(group));
    } else if (word == "convert") {
      ASSIGN_OR_RETURN(ConversionDecision conversion, ReadConversion(reader, graph));
      decision.conversions.push_back(std::move(conversion));
    } else if (word == "chain") {
      exec::StepChain chain;
      ASSIGN_OR_RETURN(chain.begin, reader.Number<int>());
      ASSIGN_OR_RETURN(chain.end, reader.Number<int>());
      ASSIGN_OR_RETURN(chain.groups, reader.Field<int>("groups"));
      decision.chains.push_back(chain);
    } else if (word == "for") {
      std::optional<std::vector<Shape>> shapes = ShapesFromText(reader.Rest());
      if (!shapes) return reader.Failure("expected shapes such as 1x3x32x320");
      decision.made_for = *std::move(shapes);
    } else {
      return reader.Failure(fmt::format("expected 'group', 'convert', 'chain' or 'for', got '{}'",
                                        word.substr(0, 40)));
    }
  }
  return decision;
}

std::vector<Shape> MadeFor(std::string_view text) {
  Reader reader(text);
  for (int line = 0; line < 3 && !reader.AtEnd(); ++line) reader.NextLine();
  if (!reader.Expect("for").ok()) return {};
  return ShapesFromText(reader.Rest()).value_or(std::vector<Shape>());
}

}  // namespace fettle::planner
