#include "kernels/problem_text.h"

#include "ir/text.h"

namespace fettle::kernels {
namespace {

int Rank(const ir::Graph& graph, ir::ValueId id) { return graph.value(id).shape->rank(); }

void AppendStates(std::string_view word, const ir::Graph& graph,
                  const std::vector<ir::ValueId>& ids, const std::vector<State>& states,
                  std::string& text) {
  text += word;
  for (size_t i = 0; i < ids.size(); ++i)
    text.append(" ").append(StateName(states[i], Rank(graph, ids[i])));
  text += "\n";
}

}  // namespace

std::string PrintGroup(const ir::Graph& group) {
  ir::Graph nameless = group;
  nameless.name.clear();
  for (size_t i = 0; i < nameless.values().size(); ++i) {
    ir::Value& value = nameless.value(static_cast<ir::ValueId>(i));
    value.name.clear();
    value.symbols.clear();
  }
  for (size_t i = 0; i < nameless.nodes().size(); ++i)
    nameless.node(static_cast<ir::NodeId>(i)).name.clear();
  return ir::Print(nameless);
}

std::string PrintProblem(const Problem& problem, std::string_view group_text) {
  const ir::Graph& group = *problem.group;
  std::string text = fmt::format("threads {}\n", problem.threads);
  AppendStates("inputs", group, group.inputs, problem.states.inputs, text);
  AppendStates("outputs", group, group.outputs, problem.states.outputs, text);
  return text.append(group_text);
}

std::string PrintProblem(const Problem& problem) {
  return PrintProblem(problem, PrintGroup(*problem.group));
}

}  // namespace fettle::kernels
