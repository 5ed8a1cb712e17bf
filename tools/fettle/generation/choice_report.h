// What a choice of types is compared with.
#pragma once

#include "language/choose_types.h"
#include "report/report.h"

namespace fettle::tools {

/// Added to `budget`, what it had to hold.
Json ChoiceJson(const language::TypeChoice& choice, Json budget);
/// The choice beside the uniform widths that hold the same budget.
void PrintChoice(const language::TypeChoice& choice);

}  // namespace fettle::tools
