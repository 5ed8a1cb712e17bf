#include "report/bench_report.h"

#include <fmt/core.h>

#include "device/capped_launches.h"
#include "jobs/accelerator.h"
#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

double MsOf(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

std::optional<CappedLaunches> LaunchesOf(const Job& job) {
  const Device* device = job.session.accelerator();
  return device == nullptr ? std::nullopt : CappedLaunchesOf(*device);
}

}  // namespace

std::string MsText(double ms) { return fmt::format("{:.3f}", ms); }

std::string BytesText(int64_t bytes) { return HumanBytes(static_cast<double>(bytes)); }

void PrintStart(const Job& job, const BenchResult& result) {
  constexpr auto kRight = Table::Align::kRight;
  std::vector<Table::Column> columns = {
      {"load ms", kRight}, {"prepare ms", kRight}, {"first ms", kRight}};
  std::vector<std::string> cells = {MsText(job.load_ms), MsText(result.prepare_ms),
                                    MsText(result.first_ms)};
  if (job.session.accelerator() != nullptr) {
    columns.insert(columns.begin(), {"device ms", kRight});
    cells.insert(cells.begin(), MsText(job.device_ms));
  }
  Table table(std::move(columns));
  table.Row(std::move(cells));
  const exec::PreparationTimes& times = result.preparation;
  const std::string programs = ProgramsText(job.session);
  // Programs of all sessions so far: those that time the steps build some, too.
  fmt::print("{}{}\n\n", table.ToString(),
             Fit(fmt::format("prepare: plan {:.1f} ms, kernels {:.1f} ms, weights {:.1f} ms{}",
                             MsOf(times.plan_ns), MsOf(times.kernels_ns), MsOf(times.weights_ns),
                             programs.empty() ? "" : "; in all " + programs)));
}

void PrintMemory(const Job& job, const BenchResult& result) {
  const runtime::MemoryInfo& memory = result.memory;
  fmt::print("{}\n",
             Fit(fmt::format("memory: peak {}, activations {}, weights {}, packed {}",
                             BytesText(result.peak_rss_bytes), BytesText(memory.arena_bytes),
                             BytesText(memory.weight_bytes), BytesText(memory.packed_bytes))));
  if (job.session.accelerator() == nullptr || memory.live_bytes == 0) return;
  fmt::print("{}\n", Fit(fmt::format("memory of the device: activations {}, of which {} are alive "
                                     "at once ({:.2f} times)",
                                     BytesText(memory.device_bytes), BytesText(memory.live_bytes),
                                     static_cast<double>(memory.device_bytes) /
                                         static_cast<double>(memory.live_bytes))));
}

Json LaunchesJson(const Job& job) {
  const std::optional<CappedLaunches> launches = LaunchesOf(job);
  if (!launches) return nullptr;
  return {{"cap_ms", launches->cap_ms},
          {"count", launches->count},
          {"over", launches->over},
          {"longest_ms", launches->longest_ms}};
}

void PrintLaunches(const Job& job) {
  const std::optional<CappedLaunches> launches = LaunchesOf(job);
  if (!launches) return;
  fmt::print("{}\n", Fit(fmt::format("launches: {} of {} longer than {} ms, the longest {} ms",
                                     launches->over, launches->count, launches->cap_ms,
                                     MsText(launches->longest_ms))));
}

Json PreparationJson(const exec::PreparationTimes& times) {
  return {{"plan_ms", MsOf(times.plan_ns)},
          {"kernels_ms", MsOf(times.kernels_ns)},
          {"weights_ms", MsOf(times.weights_ns)}};
}

}  // namespace fettle::tools
