// NAME=FILE and NAME=SHAPE, as options take them: the only place that knows where a name ends.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fettle::tools {

/// A name, and what stands behind its '='.
struct NamedText {
  std::string name;
  std::string text;
};

/// NAME=FILE. Names and files may hold '=', too: the first '=' counts for which `is_one` says yes.
/// Nullopt where it never does.
std::optional<NamedText> SplitNamed(const std::string& argument,
                                    const std::function<bool(const NamedText&)>& is_one);

/// All names that NAME=FILE may begin with, for those who read it before the names are known.
std::vector<std::string> PossibleNames(const std::string& argument);

/// What is before the first '=', for messages; the whole argument where there is none.
std::string FirstName(const std::string& argument);

/// NAME=SHAPE. Shapes hold no '=', so that the last one counts. kInvalidArgument, naming `example`,
/// without a name.
Result<NamedText> SplitNamedShape(const std::string& argument, std::string_view example);

}  // namespace fettle::tools
