#include "tuner/cost/host_pace.h"

#include <algorithm>
#include <ctime>

#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

/// Beyond these a network was not what it seems.
constexpr double kLeastPace = 0.25, kMostPace = 16;

}  // namespace

double HostPaces::Of(const Device& accelerator) const {
  const Result<Row> row = store_.Find(NetworksKey("enqueueing", accelerator));
  return row.ok() && row->status == Row::Status::kOk ? row->median_us : 1;
}

void HostPaces::Learn(const Device& accelerator, double priced_us, double seen_us) {
  if (!(priced_us > 0) || !(seen_us > 0)) return;
  const Result<Row> known = store_.Find(NetworksKey("enqueueing", accelerator));
  const bool is_first = !known.ok();
  const double before = Of(accelerator);
  const double seen = before * seen_us / priced_us;
  const double pace = std::clamp(is_first ? seen : (before + seen) / 2, kLeastPace, kMostPace);
  store_.Put(NetworksKey("enqueueing", accelerator), {.median_us = pace,
                                                      .low_us = pace,
                                                      .samples = is_first ? 1 : known->samples + 1,
                                                      .unix_seconds = std::time(nullptr)});
}

}  // namespace fettle::tuner
