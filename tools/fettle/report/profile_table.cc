#include "report/profile_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

/// What tells nodes and kernels apart.
constexpr size_t kNodeWidth = 21, kKernelWidth = 18;

std::string Share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

std::string Rate(double value) { return value > 0 ? fmt::format("{:.1f}", value) : ""; }

/// Steps of one operator by one kernel.
struct Sum {
  exec::StepProfile step;
  int64_t calls = 0, first = 0;  // the place of the first of them
};

/// Slowest first.
std::vector<Sum> SumsOf(std::span<const exec::StepProfile> steps) {
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (size_t i = 0; i < steps.size(); ++i) {
    const exec::StepProfile& step = steps[i];
    Sum& sum = sums[{step.op, step.kernel}];
    sum.step.op = step.op;
    sum.step.kernel = step.kernel;
    sum.step.ms += step.ms;
    sum.step.macs += step.macs;
    sum.step.bytes += step.bytes;
    if (sum.calls == 0) sum.first = static_cast<int64_t>(i);
    sum.calls += step.runs;
  }
  std::vector<Sum> sorted;
  for (auto& [key, sum] : sums) sorted.push_back(std::move(sum));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Sum& a, const Sum& b) { return a.step.ms > b.step.ms; });
  return sorted;
}

/// Takes all but the first `rows` out and adds them up.
Sum TakeOthers(std::vector<Sum>& sums, size_t rows) {
  Sum others;
  for (; sums.size() > rows; sums.pop_back()) {
    others.step.ms += sums.back().step.ms;
    others.calls += sums.back().calls;
  }
  return others;
}

}  // namespace

double StepGflops(const exec::StepProfile& step) {
  return step.ms > 0 ? 2e-6 * static_cast<double>(step.macs) / step.ms : 0;
}

double StepGbps(const exec::StepProfile& step) {
  return step.ms > 0 ? 1e-6 * static_cast<double>(step.bytes) / step.ms : 0;
}

std::string SummariseProfile(std::span<const exec::StepProfile> steps, size_t rows,
                             SortOrder sort) {
  double total = 0;
  for (const exec::StepProfile& step : steps) total += step.ms;
  std::vector<Sum> sums = SumsOf(steps);
  const Sum others = TakeOthers(sums, rows);
  if (sort == SortOrder::kOrder) {
    std::ranges::stable_sort(sums, {}, &Sum::first);
    sort = SortOrder::kOwn;
  }
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"operator"},
               {"kernel"},
               {.title = "calls", .align = kRight, .leaves = 3},
               {"ms", kRight},
               {"share", kRight},
               {.title = "GFLOP/s", .align = kRight, .leaves = 2},
               {.title = "GB/s", .align = kRight, .leaves = 1}});
  for (const size_t i : Sorted(
           sums.size(), sort, [&](size_t at) { return sums[at].step.ms; },
           [&](size_t at) { return sums[at].step.op; })) {
    const exec::StepProfile& step = sums[i].step;
    table.Row({step.op, step.kernel, fmt::format("{}", sums[i].calls),
               fmt::format("{:.3f}", step.ms), Share(step.ms, total), Rate(StepGflops(step)),
               Rate(StepGbps(step))});
  }
  if (others.calls > 0)
    table.Row({"others", "", fmt::format("{}", others.calls), fmt::format("{:.3f}", others.step.ms),
               Share(others.step.ms, total)});
  return table.ToString();
}

std::string ListProfile(std::span<const exec::StepProfile> steps, std::span<const StepLimit> limits,
                        SortOrder sort) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{.title = "node", .least = kNodeWidth},
               {.title = "operator", .leaves = 7},
               {.title = "kernel", .least = kKernelWidth},
               {.title = "from", .leaves = 2},
               {.title = "to", .leaves = 4},
               {.title = "type", .leaves = 3},
               {"ms", kRight},
               {.title = "share", .align = kRight, .leaves = 6},
               {"lost ms", kRight},
               {.title = "of best", .align = kRight, .leaves = 9},
               {.title = "bound by", .leaves = 8},
               {.title = "GFLOP/s", .align = kRight, .leaves = 5},
               {.title = "GB/s", .align = kRight, .leaves = 1}});
  double total = 0;
  for (const exec::StepProfile& step : steps) total += step.ms;
  const auto lost = [&](size_t at) { return steps[at].ms - limits[at].ms; };
  const auto ms = [&](size_t at) { return sort == SortOrder::kOwn ? lost(at) : steps[at].ms; };
  for (const size_t i : Sorted(steps.size(), sort == SortOrder::kOwn ? SortOrder::kTime : sort, ms,
                               [&](size_t at) { return std::string_view(steps[at].node); })) {
    const exec::StepProfile& step = steps[i];
    table.Row({StepLabel(step.node), step.op, step.kernel, step.layout_in, step.layout_out,
               step.dtype, fmt::format("{:.4f}", step.ms), Share(step.ms, total),
               fmt::format("{:.4f}", lost(i)), Share(limits[i].ms, step.ms), limits[i].by,
               Rate(StepGflops(step)), Rate(StepGbps(step))});
  }
  return table.ToString();
}

}  // namespace fettle::tools
