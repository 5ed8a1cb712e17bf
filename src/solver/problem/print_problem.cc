// The text form. One item a line, words apart by blanks, names in double quotes, states and tensors
// by index in their order of appearance:
//
//   problem 1
//   nodes 2
//   error_budget 0.5
//   memory_limit 4096
//   tensor "x"
//     state "NCHW" bytes 128
//     convert 0 1 cost 2.5 error 0.1
//     given 0
//     wanted 0 | wanted any
//   group "conv" nodes 0 1 reads 0 writes 1
//     choice "direct" cost 5 error 0 workspace 64 reads 0 writes 1
//
//   solution 1
//   cost 7.5
//   bound 7.5
//   error 0
//   pick 0 0
//   convert 0 1
//
// "bytes", "error" and "workspace" may be left out. '#' begins a comment.
#include "solver/problem/problem.h"

namespace fettle::solver {
namespace {

std::string Quote(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string Indices(std::string_view word, const std::vector<int>& values) {
  if (values.empty()) return "";
  std::string text = fmt::format(" {}", word);
  for (const int value : values) text += fmt::format(" {}", value);
  return text;
}

std::string Amounts(Cost cost, double error) {
  return error == 0 ? fmt::format(" cost {}", cost) : fmt::format(" cost {} error {}", cost, error);
}

std::string PrintTensor(const Tensor& tensor) {
  std::string text = fmt::format("tensor {}\n", Quote(tensor.name));
  for (size_t s = 0; s < tensor.states.size(); ++s) {
    text += fmt::format("  state {}", Quote(tensor.states[s]));
    if (!tensor.bytes.empty()) text += fmt::format(" bytes {}", tensor.bytes[s]);
    text += '\n';
  }
  for (const Conversion& c : tensor.conversions) {
    text += fmt::format("  convert {} {}{}\n", c.from, c.to, Amounts(c.cost, c.error));
  }
  if (!tensor.given.empty()) text += fmt::format(" {}\n", Indices("given", tensor.given));
  if (!tensor.wanted.empty()) text += fmt::format(" {}\n", Indices("wanted", tensor.wanted));
  if (tensor.wanted_in_any) text += "  wanted any\n";
  return text;
}

std::string PrintGroup(const Group& group) {
  std::string text =
      fmt::format("group {}{}{}{}\n", Quote(group.name), Indices("nodes", group.nodes),
                  Indices("reads", group.inputs), Indices("writes", group.outputs));
  for (const Choice& choice : group.choices) {
    text += fmt::format("  choice {}{}", Quote(choice.name), Amounts(choice.cost, choice.error));
    if (choice.workspace != 0) text += fmt::format(" workspace {}", choice.workspace);
    text += Indices("reads", choice.inputs) + Indices("writes", choice.outputs) + "\n";
  }
  return text;
}

}  // namespace

std::string Print(const Problem& problem) {
  std::string text = fmt::format("problem 1\nnodes {}\n", problem.nodes);
  if (problem.error_budget >= 0) text += fmt::format("error_budget {}\n", problem.error_budget);
  if (problem.memory_limit >= 0) text += fmt::format("memory_limit {}\n", problem.memory_limit);
  for (const Tensor& tensor : problem.tensors) text += PrintTensor(tensor);
  for (const Group& group : problem.groups) text += PrintGroup(group);
  return text;
}

std::string Print(const Problem& problem, const Solution& solution) {
  std::string text = fmt::format("solution 1\ncost {}\nbound {}\nerror {}\n", solution.cost,
                                 solution.bound, solution.error);
  for (const Pick& pick : solution.picks) {
    const Group& group = problem.groups[pick.group];
    const Choice& choice = group.choices[pick.choice];
    text += fmt::format("pick {} {}  # {} {}\n", pick.group, pick.choice, Quote(group.name),
                        Quote(choice.name));
  }
  for (const Made& made : solution.conversions) {
    const Tensor& tensor = problem.tensors[made.tensor];
    const Conversion& c = tensor.conversions[made.conversion];
    text +=
        fmt::format("convert {} {}  # {} from {} to {}\n", made.tensor, made.conversion,
                    Quote(tensor.name), Quote(tensor.states[c.from]), Quote(tensor.states[c.to]));
  }
  return text;
}

}  // namespace fettle::solver
