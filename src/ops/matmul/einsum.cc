// Parsing of Einsum equations.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "ops/matmul/op.h"

namespace fettle::ops {
namespace {

/// A label: a letter, or axis -i (counted from the right, from -1 on) of the ellipsis.
using Label = int;
using Term = std::vector<Label>;

constexpr Label kEllipsis = 0;

/// The labels of one term, with kEllipsis where the dots are.
Result<Term> ParseTerm(std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isalpha(c)) {
      term.push_back(c);
    } else if (text.substr(i, 3) == "..." &&
               std::find(term.begin(), term.end(), kEllipsis) == term.end()) {
      term.push_back(kEllipsis);
      i += 2;
    } else {
      return InvalidModel("attribute 'equation': bad term '{}'", text);
    }
  }
  return term;
}

/// The dots replaced by the labels of `count` axes.
Term ExpandEllipsis(const Term& term, int count) {
  Term expanded;
  for (Label label : term) {
    if (label != kEllipsis) {
      expanded.push_back(label);
      continue;
    }
    for (int axis = count; axis > 0; --axis) expanded.push_back(-axis);
  }
  return expanded;
}

std::vector<std::string> SplitTerms(std::string_view text) {
  std::vector<std::string> terms(1);
  for (char c : text) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  return terms;
}

struct Equation {
  std::vector<Term> operands;
  Term output;
};

/// Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
Term ImplicitOutput(const std::vector<Term>& operands, int ellipsis_axes) {
  std::map<Label, int> uses;
  for (const Term& term : operands) {
    for (Label label : term) ++uses[label];
  }
  Term output = ExpandEllipsis({kEllipsis}, ellipsis_axes);
  for (const auto& [label, count] : uses) {
    if (label > 0 && count == 1) output.push_back(label);
  }
  return output;
}

Result<Equation> ParseEquation(std::string_view text, const std::vector<Shape>& shapes) {
  std::string equation;
  std::copy_if(text.begin(), text.end(), std::back_inserter(equation),
               [](unsigned char c) { return !std::isspace(c); });
  const size_t arrow = equation.find("->");
  const std::vector<std::string> terms = SplitTerms(equation.substr(0, arrow));
  if (terms.size() != shapes.size())
    return InvalidModel("attribute 'equation': {} terms for {} inputs", terms.size(),
                        shapes.size());
  Equation parsed;
  int ellipsis_axes = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    ASSIGN_OR_RETURN(const Term term, ParseTerm(terms[i]));
    const bool dots = std::find(term.begin(), term.end(), kEllipsis) != term.end();
    const int covered = shapes[i].rank() - static_cast<int>(term.size()) + (dots ? 1 : 0);
    if (covered < 0 || (!dots && covered > 0))
      return InvalidModel("attribute 'equation': term '{}' does not fit the shape {}", terms[i],
                          shapes[i].ToString());
    if (dots) ellipsis_axes = std::max(ellipsis_axes, covered);
    parsed.operands.push_back(ExpandEllipsis(term, covered));
  }
  if (arrow == std::string::npos) {
    parsed.output = ImplicitOutput(parsed.operands, ellipsis_axes);
    return parsed;
  }
  ASSIGN_OR_RETURN(const Term output, ParseTerm(std::string_view(equation).substr(arrow + 2)));
  parsed.output = ExpandEllipsis(output, ellipsis_axes);
  return parsed;
}

}  // namespace

Shape Einsum::Output() const { return Shape(Dims(extents.begin(), extents.begin() + output_rank)); }

Result<Einsum> ReadEinsum(std::string_view equation, const std::vector<Shape>& operands) {
  ASSIGN_OR_RETURN(const Equation parsed, ParseEquation(equation, operands));
  std::map<Label, int64_t> extents;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (int axis = 0; axis < operands[i].rank(); ++axis) {
      const int64_t extent = operands[i][axis];
      const auto [it, added] = extents.emplace(parsed.operands[i][axis], extent);
      if (added || it->second == extent || extent == 1) continue;
      if (it->second != 1)
        return InvalidModel("attribute 'equation': extents {} and {} of one label", it->second,
                            extent);
      it->second = extent;
    }
  }
  Einsum einsum;
  std::map<Label, int> loops;
  const auto add_loop = [&](Label label) {
    if (!loops.emplace(label, static_cast<int>(einsum.extents.size())).second) return false;
    einsum.extents.push_back(extents[label]);
    return true;
  };
  for (Label label : parsed.output) {
    if (!extents.contains(label) || !add_loop(label))
      return InvalidModel("attribute 'equation': an output label is unknown or listed twice");
  }
  einsum.output_rank = static_cast<int>(einsum.extents.size());
  for (const auto& [label, extent] : extents) add_loop(label);
  // The loops of unrelated labels multiply: more steps than elements of any tensor never end.
  if (!Shape(einsum.extents).CheckedElements())
    return InvalidModel("attribute 'equation': loops over {}", Shape(einsum.extents).ToString());
  for (const Term& term : parsed.operands) {
    std::vector<int>& axes = einsum.operand_axes.emplace_back();
    for (Label label : term) axes.push_back(loops[label]);
  }
  return einsum;
}

}  // namespace fettle::ops
