#include "kernels/probe_row.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

constexpr int kRepeats = 7, kRepeatsOfLong = 5;
/// Where short runs lie further apart than this, other programs ran: twice as many find a moment
/// without them.
constexpr double kQuietSpread = 0.1;
constexpr int kRepeatsOfNoisy = 2 * kRepeats;
constexpr double kLongNs = 2e7;

}  // namespace

Status WrongResult() {
  return Error(StatusCode::kInternal, "its result is wrong: part of the work was left out");
}

Ceiling MeasureRow(const ProbeRow& row, double long_enough_ns) {
  if (!row.runs.ok()) return NotMeasured(row.name, row.runs);
  int64_t amount = 1;
  Result<ProbeSample> sample = row.run(amount);
  // The first run may have built a program.
  if (sample.ok() && sample->ns >= long_enough_ns) sample = row.run(amount);
  while (sample.ok() && sample->ns < long_enough_ns && amount < row.most) {
    const double times = std::min(long_enough_ns / std::max(sample->ns, 1.0) * 1.1, 16.0);
    amount = std::min(static_cast<int64_t>(static_cast<double>(amount) * times) + 1, row.most);
    sample = row.run(amount);
  }
  if (!sample.ok()) return NotMeasured(row.name, sample.status());
  const int repeats = sample->ns < kLongNs ? kRepeats : kRepeatsOfLong;
  std::vector<double> figures;
  const auto repeat_until = [&](int count) -> Status {
    while (std::ssize(figures) < count) {
      ASSIGN_OR_RETURN(const ProbeSample again, row.run(amount));
      figures.push_back(again.figure);
    }
    return OkStatus();
  };
  Status status = repeat_until(repeats);
  if (status.ok() && repeats == kRepeats && FromRepeats(row.name, figures).spread > kQuietSpread)
    status = repeat_until(kRepeatsOfNoisy);
  if (!status.ok()) return NotMeasured(row.name, status);
  return FromRepeats(row.name, std::move(figures));
}

std::vector<Ceiling> MeasureRows(const std::vector<ProbeRow>& rows, const ProbeRequest& request,
                                 double long_enough_ns) {
  std::vector<Ceiling> ceilings;
  for (const ProbeRow& row : rows) {
    if (!request.Wants(row.name.name) || (request.for_bounds && !row.for_bounds)) continue;
    ProbeRow unless_cancelled = row;
    unless_cancelled.run = [&](int64_t amount) -> Result<ProbeSample> {
      if (request.IsCancelled()) return Error(StatusCode::kCancelled, "cancelled");
      return row.run(amount);
    };
    ceilings.push_back(MeasureRow(unless_cancelled, long_enough_ns));
  }
  return ceilings;
}

}  // namespace fettle::kernels
