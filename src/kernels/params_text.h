// Parameters as text, wherever they are kept or shown: rows of the database, decisions, reports.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// "columns=8,rows=4"; empty where there are none.
std::string PrintParams(const Params& params, std::string_view between = ",");

/// Reads it back; spaces may stand where commas do, as in the decisions of earlier builds. Nullopt
/// where it is no such text.
std::optional<Params> ParseParams(std::string_view text);

}  // namespace fettle::kernels
