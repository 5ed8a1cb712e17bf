#include "io/named_argument.h"

namespace fettle::tools {

std::optional<NamedText> SplitNamed(const std::string& argument,
                                    const std::function<bool(const NamedText&)>& is_one) {
  for (size_t at = argument.find('='); at != argument.npos; at = argument.find('=', at + 1)) {
    NamedText split{argument.substr(0, at), argument.substr(at + 1)};
    if (is_one(split)) return split;
  }
  return std::nullopt;
}

std::vector<std::string> PossibleNames(const std::string& argument) {
  std::vector<std::string> names;
  SplitNamed(argument, [&](const NamedText& split) {
    names.push_back(split.name);
    return false;
  });
  return names;
}

std::string FirstName(const std::string& argument) {
  return argument.substr(0, argument.find('='));
}

Result<NamedText> SplitNamedShape(const std::string& argument, std::string_view example) {
  const size_t equals = argument.rfind('=');
  if (equals == argument.npos || equals == 0)
    return InvalidArgument("expected {}, got '{}'", example, argument);
  return NamedText{argument.substr(0, equals), argument.substr(equals + 1)};
}

}  // namespace fettle::tools
