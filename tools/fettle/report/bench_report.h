// What bench says of a start and of memory.
#pragma once

#include <string>

#include "io/json.h"
#include "jobs/bench_runs.h"

namespace fettle::tools {

/// {plan_ms, kernels_ms, weights_ms}: where the time of preparing went.
Json PreparationJson(const exec::PreparationTimes& times);

/// What happens once before the inferences, and where the time of preparing went.
void PrintStart(const Job& job, const BenchResult& result);

/// The process's memory, and what a plan needs of a device beside the least it could.
void PrintMemory(const Job& job, const BenchResult& result);

/// {cap_ms, count, over, longest_ms} of the launches of --kernel-ms so far; null without it.
Json LaunchesJson(const Job& job);

/// The same as a line, where there is a cap.
void PrintLaunches(const Job& job);

/// "12.345", and "3.6 MB".
std::string MsText(double ms);
std::string BytesText(int64_t bytes);

}  // namespace fettle::tools
