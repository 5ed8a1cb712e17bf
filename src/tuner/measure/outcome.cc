#include "tuner/measure/outcome.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace fettle::tuner {
namespace {

double StandardError(const Row& row) {
  return Summary{.mad = row.mad_us, .samples = row.samples}.error();
}

}  // namespace

Outcome End(Row::Status status, std::string reason) {
  Outcome outcome;
  outcome.row.status = status;
  outcome.row.reason = std::move(reason);
  outcome.row.unix_seconds = std::time(nullptr);
  return outcome;
}

std::vector<size_t> Finalists(const std::vector<Outcome>& outcomes, size_t most, double margin) {
  std::vector<size_t> finalists;
  double limit_us = kNoLimit;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].ok()) continue;
    finalists.push_back(i);
    limit_us = std::min(limit_us, (1 + margin) * outcomes[i].high_us);
  }
  std::erase_if(finalists, [&](size_t i) { return outcomes[i].row.low_us > limit_us; });
  std::stable_sort(finalists.begin(), finalists.end(), [&](size_t a, size_t b) {
    return outcomes[a].row.median_us < outcomes[b].row.median_us;
  });
  if (finalists.size() > most) finalists.resize(most);
  std::sort(finalists.begin(), finalists.end());
  return finalists;
}

void StopOthers(const std::vector<size_t>& finalists, double fastest_us,
                std::vector<Outcome>& outcomes) {
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const bool raced = std::find(finalists.begin(), finalists.end(), i) != finalists.end();
    Row& row = outcomes[i].row;
    if (raced || !outcomes[i].ok() || row.median_us > fastest_us) continue;
    row.status = Row::Status::kStopped;
    row.reason = "others were faster at first";
  }
}

int Pick(std::span<const Row> rows) {
  constexpr double kGivenUp = 0.01;
  int fastest = -1;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status != Row::Status::kOk) continue;
    if (fastest < 0 || rows[i].median_us < rows[fastest].median_us) fastest = static_cast<int>(i);
  }
  for (int i = 0; i < fastest; ++i) {
    const Row& row = rows[i];
    const Row& best = rows[fastest];
    if (row.status != Row::Status::kOk) continue;
    const double unsure = 2 * std::hypot(StandardError(row), StandardError(best));
    if (row.median_us - best.median_us <= std::min(unsure, kGivenUp * best.median_us)) return i;
  }
  return fastest;
}

}  // namespace fettle::tuner
