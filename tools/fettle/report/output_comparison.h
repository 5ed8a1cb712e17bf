// The outputs of a model against others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jobs/job.h"
#include "report/judgement.h"

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

struct OutputComparisons {
  std::vector<OutputComparison> outputs;
  Limits limits;                         // with the rule of the precision that was used
  std::vector<exec::StepProfile> steps;  // of the run that is judged
  /// Its devices, and what it was planned for.
  std::unique_ptr<runtime::Session> session;
};

/// Runs the job and judges each output by `limits`, floats by the rule of the precision that was
/// used. Positions (of an ArgMax, a TopK) may differ where the reference's scores at them agree.
Result<OutputComparisons> CompareOutputs(const Counterpart& with, const Job& job, Limits limits);
/// For InterruptScope among the scalar references, which look for no signal: nothing is lost.
void EndAtOnce();

}  // namespace fettle::tools
