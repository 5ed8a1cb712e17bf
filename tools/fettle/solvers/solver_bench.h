// fettle bench --solver: the plan of one layout against the joint one, whole networks in turns.
#pragma once

#include <string>
#include <vector>

#include "jobs/bench_runs.h"

namespace fettle::tools {

/// The value of --solver, names with commas between them.
struct SolverNames {
  std::string text;
  /// "joint" first, each once.
  std::vector<std::string> list() const;
};

/// What is wrong with a SolverNames::text; "": nothing.
std::string CheckSolvers(const std::string& text);

/// A plan, and what its network took.
struct SolverRow {
  std::string solver;
  double ms = 0;  // median
  /// Over the joint plan: the median of the rounds' ratios, and what bounds it in 95 of 100 cases.
  double ratio = 1, low = 1, high = 1;
  double predicted_ms = 0;
  int64_t measured = 0;                  // by its tuning, beside what those before it had measured
  std::vector<exec::StepProfile> steps;  // `ms`: the mean over the rounds
  bool same_kernels = false;             // and layouts as the joint plan, parameters apart
};

struct SolverResult {
  std::vector<SolverRow> rows;
  int64_t rounds = 0;
  bool interrupted = false;
};

/// Tunes a plan by each solver, with what is measured for one known to the next, and runs all once
/// a round, in changing order. `length.seconds` is for each of them. Fails with kInvalidArgument
/// where no tensor can have a layout that is named.
Result<SolverResult> MeasureSolvers(const Job& job, const JobOptions& options,
                                    const std::vector<std::string>& solvers,
                                    const BenchLength& length);

/// Returns the exit code.
int BenchSolvers(const JobOptions& options, const std::vector<std::string>& solvers,
                 const BenchLength& length);

}  // namespace fettle::tools
