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
#include <charconv>
#include <cmath>

#include "solver/problem.h"

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

/// The words of one line. Failures are kInvalidArgument and start with the line number.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) { SkipBlanks(); }

  bool AtEnd() const { return text_.empty() || text_.front() == '#'; }

  template <typename... Args>
  Status Fail(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument(format, std::forward<Args>(args)...)
        .WithContext(fmt::format("line {}", number_));
  }

  /// Up to the next blank; empty at the end.
  std::string_view Word() {
    if (AtEnd()) return "";
    const std::string_view word = text_.substr(0, text_.find_first_of(" \t"));
    Skip(word.size());
    return word;
  }

  /// Takes `word` if it is next.
  bool Take(std::string_view word) {
    const std::string_view rest = text_;
    if (Word() == word) return true;
    text_ = rest;
    return false;
  }

  template <typename T>
  Result<T> Number() {
    const std::string_view word = Word();
    T value{};
    const char* end = word.data() + word.size();
    const auto [at, code] = std::from_chars(word.data(), end, value);
    if (word.empty() || code != std::errc() || at != end) {
      return Fail("expected a number, got '{}'", word);
    }
    return value;
  }

  /// A finite amount that is not negative.
  Result<double> Amount() {
    ASSIGN_OR_RETURN(const double value, Number<double>());
    if (!std::isfinite(value) || value < 0) return Fail("expected an amount >= 0, got {}", value);
    return value;
  }

  /// As many indices as follow.
  Result<std::vector<int>> Indices() {
    std::vector<int> values;
    while (!AtEnd() && text_.front() >= '0' && text_.front() <= '9') {
      ASSIGN_OR_RETURN(const int value, Number<int>());
      values.push_back(value);
    }
    return values;
  }

  Result<std::string> Name() {
    if (text_.empty() || text_.front() != '"') return Fail("expected a name in double quotes");
    std::string name;
    for (size_t i = 1; i < text_.size(); ++i) {
      if (text_[i] == '"') {
        Skip(i + 1);
        return name;
      }
      if (text_[i] != '\\') {
        name += text_[i];
      } else if (text_.substr(i + 1, 1) == "x") {
        unsigned value = 0;
        const std::string_view digits = text_.substr(i + 2, 2);
        const char* end = digits.data() + digits.size();
        const auto [at, code] = std::from_chars(digits.data(), end, value, 16);
        if (digits.size() != 2 || code != std::errc() || at != end) return Fail("bad escape");
        name += static_cast<char>(value);
        i += 3;
      } else if (i + 1 < text_.size()) {
        name += text_[++i];
      }
    }
    return Fail("a name does not end");
  }

  Status End() const { return AtEnd() ? OkStatus() : Fail("unexpected '{}'", text_); }

 private:
  void SkipBlanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t"), text_.size())); }
  void Skip(size_t count) {
    text_.remove_prefix(count);
    SkipBlanks();
  }

  std::string_view text_;
  int number_;
};

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

std::string Print(const Problem& problem) {
  std::string text = fmt::format("problem 1\nnodes {}\n", problem.nodes);
  if (problem.error_budget >= 0) text += fmt::format("error_budget {}\n", problem.error_budget);
  if (problem.memory_limit >= 0) text += fmt::format("memory_limit {}\n", problem.memory_limit);
  for (const Tensor& tensor : problem.tensors) text += PrintTensor(tensor);
  for (const Group& group : problem.groups) text += PrintGroup(group);
  return text;
}

Result<Problem> Parse(std::string_view text) {
  ProblemParser parser;
  RETURN_IF_ERROR(ForEachLine(text, [&](Line& line) { return parser.ParseLine(line); }));
  return parser.Finish();
}

std::string Print(const Problem& problem, const Solution& solution) {
  std::string text = fmt::format("solution 1\ncost {}\nbound {}\nerror {}\n", solution.cost,
                                 solution.bound, solution.error);
  for (const Pick& pick : solution.picks) {
    const Group& group = problem.groups[static_cast<size_t>(pick.group)];
    const Choice& choice = group.choices[static_cast<size_t>(pick.choice)];
    text += fmt::format("pick {} {}  # {} {}\n", pick.group, pick.choice, Quote(group.name),
                        Quote(choice.name));
  }
  for (const Made& made : solution.conversions) {
    const Tensor& tensor = problem.tensors[static_cast<size_t>(made.tensor)];
    const Conversion& c = tensor.conversions[static_cast<size_t>(made.conversion)];
    text += fmt::format("convert {} {}  # {} from {} to {}\n", made.tensor, made.conversion,
                        Quote(tensor.name), Quote(tensor.states[static_cast<size_t>(c.from)]),
                        Quote(tensor.states[static_cast<size_t>(c.to)]));
  }
  return text;
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
