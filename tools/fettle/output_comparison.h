// The outputs of a model against others.
#pragma once

#include <string>
#include <vector>

#include "job.h"
#include "judgement.h"

namespace fettle::tools {

/// What outputs are compared with.
struct Counterpart {
  std::string name = "reference";  // "reference", a model or package, or a folder of outputs
  bool strict = false;             // of a package: see ModelOptions
};

struct OutputComparison {
  std::string name;
  Judgement judgement;
};

/// Runs the job and judges each output. Positions (of an ArgMax, a TopK) may differ where the
/// reference's scores at them agree.
Result<std::vector<OutputComparison>> CompareOutputs(const Counterpart& with, const Job& job,
                                                     const Limits& limits);

}  // namespace fettle::tools
