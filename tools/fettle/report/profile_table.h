// The per-operator table that run and bench print.
#pragma once

#include <span>
#include <string>

#include "exec/profile.h"

namespace fettle::tools {

/// Steps added up by (operator, kernel), slowest first, at most `rows` of them and a line for the
/// rest.
std::string SummariseProfile(std::span<const exec::StepProfile> steps, size_t rows);
/// One line per step, in order.
std::string ListProfile(std::span<const exec::StepProfile> steps);

/// GFLOP/s (two per multiply-add) and GB/s of one step; 0 where nothing was counted.
double StepGflops(const exec::StepProfile& step);
double StepGbps(const exec::StepProfile& step);

}  // namespace fettle::tools
