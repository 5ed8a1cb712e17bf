#include "language/tokens/pattern_of.h"

namespace fettle::language {

Result<std::shared_ptr<const WordPattern>> PatternOf(const Json& json) {
  ASSIGN_OR_RETURN(const Json* pattern, Need(json, "pattern"));
  ASSIGN_OR_RETURN(const std::string text, TextOf(*pattern, "String", ""));
  if (!text.empty()) return WordPattern::Literal(text);
  ASSIGN_OR_RETURN(const std::string expression, TextOf(*pattern, "Regex", ""));
  if (expression.empty()) return InvalidModel("'pattern': expected a String or a Regex");
  return WordPattern::Create(expression);
}

}  // namespace fettle::language
