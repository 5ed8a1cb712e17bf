#include "solver/problem/text_line.h"

#include <cmath>

namespace fettle::solver {

Result<double> Line::Amount() {
  ASSIGN_OR_RETURN(const double value, Number<double>());
  if (!std::isfinite(value) || value < 0) return Fail("expected an amount >= 0, got {}", value);
  return value;
}

Result<std::vector<int>> Line::Indices() {
  std::vector<int> values;
  while (!AtEnd() && text_.front() >= '0' && text_.front() <= '9') {
    ASSIGN_OR_RETURN(const int value, Number<int>());
    values.push_back(value);
  }
  return values;
}

Result<std::string> Line::Name() {
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

}  // namespace fettle::solver
