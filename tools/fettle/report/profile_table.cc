#include "report/profile_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "report/table.h"

namespace fettle::tools {
namespace {

constexpr auto kLeft = Table::Align::kLeft;
constexpr auto kRight = Table::Align::kRight;

std::string Share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

std::string Rate(double value) { return value > 0 ? fmt::format("{:.1f}", value) : ""; }

}  // namespace

double StepGflops(const exec::StepProfile& step) {
  return step.ms > 0 ? 2e-6 * static_cast<double>(step.macs) / step.ms : 0;
}

double StepGbps(const exec::StepProfile& step) {
  return step.ms > 0 ? 1e-6 * static_cast<double>(step.bytes) / step.ms : 0;
}

std::string SummariseProfile(std::span<const exec::StepProfile> steps, size_t rows) {
  struct Sum {
    exec::StepProfile step;
    int64_t calls = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  double total = 0;
  for (const exec::StepProfile& step : steps) {
    Sum& sum = sums[{step.op, step.kernel}];
    sum.step.op = step.op;
    sum.step.kernel = step.kernel;
    sum.step.ms += step.ms;
    sum.step.macs += step.macs;
    sum.step.bytes += step.bytes;
    ++sum.calls;
    total += step.ms;
  }
  std::vector<Sum> sorted;
  for (const auto& [key, sum] : sums) sorted.push_back(sum);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Sum& a, const Sum& b) { return a.step.ms > b.step.ms; });
  Table table({{"operator"},
               {"kernel"},
               {"calls", kRight},
               {"ms", kRight},
               {"share", kRight},
               {"GFLOP/s", kRight},
               {"GB/s", kRight}});
  double rest = 0;
  int64_t rest_calls = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const exec::StepProfile& step = sorted[i].step;
    if (i >= rows) {
      rest += step.ms;
      rest_calls += sorted[i].calls;
      continue;
    }
    table.Row({step.op, step.kernel, fmt::format("{}", sorted[i].calls),
               fmt::format("{:.3f}", step.ms), Share(step.ms, total), Rate(StepGflops(step)),
               Rate(StepGbps(step))});
  }
  if (rest_calls > 0)
    table.Row({"others", "", fmt::format("{}", rest_calls), fmt::format("{:.3f}", rest),
               Share(rest, total)});
  return table.ToString();
}

std::string ListProfile(std::span<const exec::StepProfile> steps) {
  Table table({{"node", kLeft},
               {"operator"},
               {"kernel"},
               {"from"},
               {"to"},
               {"type"},
               {"ms", kRight},
               {"share", kRight},
               {"GFLOP/s", kRight},
               {"GB/s", kRight}});
  double total = 0;
  for (const exec::StepProfile& step : steps) total += step.ms;
  for (const exec::StepProfile& step : steps) {
    table.Row({step.node, step.op, step.kernel, step.layout_in, step.layout_out, step.dtype,
               fmt::format("{:.4f}", step.ms), Share(step.ms, total), Rate(StepGflops(step)),
               Rate(StepGbps(step))});
  }
  return table.ToString();
}

}  // namespace fettle::tools
