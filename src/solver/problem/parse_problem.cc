// The text form (print.cc) back to problems and solutions.
#include "solver/problem/problem.h"
#include "solver/problem/text_line.h"

namespace fettle::solver {
namespace {

/// Calls `parse` with each line that is not blank, until one fails.
template <typename Parse>
Status ForEachLine(std::string_view text, Parse parse) {
  for (int number = 1; !text.empty(); ++number) {
    const size_t length = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, length);
    if (!content.empty() && content.back() == '\r') content.remove_suffix(1);
    Line line(content, number);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.AtEnd()) continue;
    RETURN_IF_ERROR(parse(line));
    RETURN_IF_ERROR(line.End());
  }
  return OkStatus();
}

Status ParseHeader(Line& line, std::string_view kind) {
  if (!line.Take(kind)) return line.Fail("expected '{} 1'", kind);
  ASSIGN_OR_RETURN(const int version, line.Number<int>());
  if (version != 1) return line.Fail("version {} of the text form is not known", version);
  return OkStatus();
}

class ProblemParser {
 public:
  Status ParseLine(Line& line) {
    if (!seen_header_) {
      seen_header_ = true;
      return ParseHeader(line, "problem");
    }
    const std::string_view word = line.Word();
    if (word == "nodes") return Set(line.Number<int>(), problem_.nodes);
    if (word == "error_budget") return Set(line.Amount(), problem_.error_budget);
    if (word == "memory_limit") return Set(line.Number<int64_t>(), problem_.memory_limit);
    if (word == "tensor") {
      in_group_ = false;
      return Set(line.Name(), problem_.tensors.emplace_back().name);
    }
    if (word == "group") return ParseGroup(line);
    if (word == "choice") return ParseChoice(line);
    if (problem_.tensors.empty() || in_group_) return line.Fail("unexpected '{}'", word);
    return ParseTensorLine(line, word, problem_.tensors.back());
  }

  Result<Problem> Finish() {
    if (!seen_header_) return InvalidArgument("line 1: expected 'problem 1'");
    RETURN_IF_ERROR(Validate(problem_));
    return std::move(problem_);
  }

 private:
  template <typename T>
  static Status Set(Result<T> value, T& to) {
    RETURN_IF_ERROR(value.status());
    to = std::move(value).value();
    return OkStatus();
  }

  Status ParseTensorLine(Line& line, std::string_view word, Tensor& tensor) {
    if (word == "state") {
      RETURN_IF_ERROR(Set(line.Name(), tensor.states.emplace_back()));
      const bool has_bytes = line.Take("bytes");
      const size_t others = tensor.states.size() - 1;
      if (tensor.bytes.size() != (has_bytes ? others : 0)) {
        return line.Fail("either all states of a tensor have bytes or none has");
      }
      return has_bytes ? Set(line.Number<int64_t>(), tensor.bytes.emplace_back()) : OkStatus();
    }
    if (word == "convert") return ParseConversion(line, tensor);
    if (word == "given") return Set(line.Indices(), tensor.given);
    if (word == "wanted" && line.Take("any")) {
      tensor.wanted_in_any = true;
      return OkStatus();
    }
    if (word == "wanted") return Set(line.Indices(), tensor.wanted);
    return line.Fail("unexpected '{}'", word);
  }

  Status ParseConversion(Line& line, Tensor& tensor) {
    Conversion& conversion = tensor.conversions.emplace_back();
    RETURN_IF_ERROR(Set(line.Number<int>(), conversion.from));
    RETURN_IF_ERROR(Set(line.Number<int>(), conversion.to));
    return ParseAmounts(line, conversion.cost, conversion.error);
  }

  Status ParseAmounts(Line& line, Cost& cost, double& error) {
    if (!line.Take("cost")) return line.Fail("expected 'cost'");
    RETURN_IF_ERROR(Set(line.Amount(), cost));
    return line.Take("error") ? Set(line.Amount(), error) : OkStatus();
  }

  Status ParseOperands(Line& line, std::vector<int>& inputs, std::vector<int>& outputs) {
    if (line.Take("reads")) RETURN_IF_ERROR(Set(line.Indices(), inputs));
    return line.Take("writes") ? Set(line.Indices(), outputs) : OkStatus();
  }

  Status ParseGroup(Line& line) {
    in_group_ = true;
    Group& group = problem_.groups.emplace_back();
    RETURN_IF_ERROR(Set(line.Name(), group.name));
    if (!line.Take("nodes")) return line.Fail("expected 'nodes'");
    RETURN_IF_ERROR(Set(line.Indices(), group.nodes));
    return ParseOperands(line, group.inputs, group.outputs);
  }

  Status ParseChoice(Line& line) {
    if (!in_group_) return line.Fail("a choice belongs to a group");
    Choice& choice = problem_.groups.back().choices.emplace_back();
    RETURN_IF_ERROR(Set(line.Name(), choice.name));
    RETURN_IF_ERROR(ParseAmounts(line, choice.cost, choice.error));
    if (line.Take("workspace")) RETURN_IF_ERROR(Set(line.Number<int64_t>(), choice.workspace));
    return ParseOperands(line, choice.inputs, choice.outputs);
  }

  Problem problem_;
  bool seen_header_ = false;
  bool in_group_ = false;
};

Status ParseSolutionLine(Line& line, Solution& solution) {
  const std::string_view word = line.Word();
  if (word == "pick" || word == "convert") {
    ASSIGN_OR_RETURN(const int first, line.Number<int>());
    ASSIGN_OR_RETURN(const int second, line.Number<int>());
    if (word == "pick") {
      solution.picks.push_back({first, second});
    } else {
      solution.conversions.push_back({first, second});
    }
    return OkStatus();
  }
  if (word != "cost" && word != "bound" && word != "error") {
    return line.Fail("unexpected '{}'", word);
  }
  ASSIGN_OR_RETURN(const double value, line.Amount());
  (word == "cost" ? solution.cost : word == "bound" ? solution.bound : solution.error) = value;
  return OkStatus();
}

}  // namespace

Result<Problem> Parse(std::string_view text) {
  ProblemParser parser;
  RETURN_IF_ERROR(ForEachLine(text, [&](Line& line) { return parser.ParseLine(line); }));
  return parser.Finish();
}

Result<Solution> ParseSolution(const Problem& problem, std::string_view text) {
  Solution solution;
  bool seen_header = false;
  RETURN_IF_ERROR(ForEachLine(text, [&](Line& line) {
    if (seen_header) return ParseSolutionLine(line, solution);
    seen_header = true;
    return ParseHeader(line, "solution");
  }));
  if (!seen_header) return InvalidArgument("line 1: expected 'solution 1'");
  RETURN_IF_ERROR(Evaluate(problem, solution).status());
  return solution;
}

}  // namespace fettle::solver
