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
/// One line per step, in order unless `sort` says otherwise.
std::string ListProfile(std::span<const exec::StepProfile> steps, SortOrder sort = SortOrder::kOwn);

/// GFLOP/s (two per multiply-add) and GB/s of one step; 0 where nothing was counted.
double StepGflops(const exec::StepProfile& step);
double StepGbps(const exec::StepProfile& step);

}  // namespace fettle::tools
