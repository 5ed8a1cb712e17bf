// Problems made of their texts: what shows that a text says all that a problem is.
#pragma once

#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

#include "ir/text.h"
#include "kernels/problem_text.h"
#include "ops/op.h"

namespace fettle::kernels {

/// Takes the first line off `text`; it must start with `word`.
inline Result<std::string_view> TakeLine(std::string_view word, std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  if (!line.starts_with(word))
    return InvalidArgument("problem text: expected '{} ...', got '{}'", word, line);
  line.remove_prefix(word.size());
  return line;
}

/// Reads one state per value from "NAME NAME ...".
inline Result<std::vector<State>> ReadStates(std::string_view line, const ir::Graph& graph,
                                             const std::vector<ir::ValueId>& ids) {
  std::vector<State> states;
  for (ir::ValueId id : ids) {
    while (line.starts_with(' ')) line.remove_prefix(1);
    const std::string_view name = line.substr(0, line.find(' '));
    line.remove_prefix(name.size());
    ASSIGN_OR_RETURN(const State state, StateFromName(name, graph.value(id).shape->rank()));
    states.push_back(state);
  }
  while (line.starts_with(' ')) line.remove_prefix(1);
  if (!line.empty()) return InvalidArgument("problem text: more states than operands");
  return states;
}

/// Parses what PrintProblem wrote; constants that were left out are noise. Fails with
/// kInvalidArgument.
inline Result<Problem> ParseProblem(std::string_view text) {
  Problem problem;
  ASSIGN_OR_RETURN(const std::string_view threads, TakeLine("threads ", text));
  const auto [end, error] =
      std::from_chars(threads.data(), threads.data() + threads.size(), problem.threads);
  if (error != std::errc() || end != threads.data() + threads.size() || problem.threads < 1)
    return InvalidArgument("problem text: expected a number of threads, got '{}'", threads);
  ASSIGN_OR_RETURN(const std::string_view inputs, TakeLine("inputs", text));
  ASSIGN_OR_RETURN(const std::string_view outputs, TakeLine("outputs", text));
  ASSIGN_OR_RETURN(ir::Graph group, ops::Parse(text));
  for (ir::ValueId id : group.inputs) {
    if (!group.value(id).has_concrete_shape())
      return InvalidArgument("problem text: inputs need concrete shapes");
  }
  RETURN_IF_ERROR(ops::InferGraph(group));
  ASSIGN_OR_RETURN(problem.states.inputs, ReadStates(inputs, group, group.inputs));
  ASSIGN_OR_RETURN(problem.states.outputs, ReadStates(outputs, group, group.outputs));
  problem.group = std::make_shared<const ir::Graph>(std::move(group));
  return problem;
}

}  // namespace fettle::kernels
