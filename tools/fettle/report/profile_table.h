// The per-operator table that run and bench print.
#pragma once

#include <span>
#include <string>

#include "exec/profile.h"
#include "report/sort_order.h"

namespace fettle::tools {

/// Steps added up by (operator, kernel): the `rows` slowest of them, slowest first unless `sort`
/// says otherwise, and a line for the rest.
std::string SummariseProfile(std::span<const exec::StepProfile> steps, size_t rows,
                             SortOrder sort = SortOrder::kOwn);
/// What a step takes at this machine's ceilings, and which of them says so ("" where nobody
/// counted).
struct StepLimit {
  double ms = 0;
  std::string by;
};
/// One line per step, what loses most time beyond its limit first unless `sort` says otherwise.
/// `limits`: one for each step.
std::string ListProfile(std::span<const exec::StepProfile> steps, std::span<const StepLimit> limits,
                        SortOrder sort = SortOrder::kOwn);

/// GFLOP/s (two per multiply-add) and GB/s of one step; 0 where nothing was counted.
double StepGflops(const exec::StepProfile& step);
double StepGbps(const exec::StepProfile& step);

}  // namespace fettle::tools
