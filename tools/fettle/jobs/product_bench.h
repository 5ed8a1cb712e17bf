// Times of ways to make a product: the tuner's bench, its database and its search; and the ceilings
// that they have their share of.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "device/cpu/cpu_device.h"
#include "tuner/measure/measure.h"
#include "tuner/store/candidate.h"

namespace fettle::tools {

/// Measures afresh and keeps what it learns, under the keys that tuning a network uses. Not
/// synchronised; what it is given outlives it.
class ProductBench {
 public:
  ProductBench(const DeviceSet& devices, const tuner::MeasureOptions& options, tuner::Store& store)
      : devices_(devices), store_(store), bench_(devices, options) {}

  /// Stopped (kStopped) where it is slower than that with confidence.
  tuner::Row Measure(const tuner::Candidate& candidate, double stop_above_us = tuner::kNoLimit);
  /// Side by side; the candidates are of one group in equal states.
  std::vector<tuner::Row> Race(std::span<const tuner::Candidate> candidates);

  struct SearchLimits {
    int64_t evaluations = 0;
    uint64_t seed = 0;
    /// LX and LY alone.
    bool work_group_alone = false;
    /// Asked before each evaluation; true ends the search.
    std::function<bool()> interrupted;
  };
  /// The fastest parameters that a search from those of `from` finds; what the database knows of
  /// this build is not measured again. None where nothing has a time.
  Result<std::optional<kernels::Params>> Search(const tuner::Candidate& from,
                                                const SearchLimits& limits);

 private:
  const Device& DeviceOf(const tuner::Candidate& candidate) const {
    return *devices_.Find(candidate.kernel->device());
  }
  tuner::Row Known(const tuner::Candidate& candidate, double stop_above_us);

  DeviceSet devices_;
  tuner::Store& store_;
  tuner::Bench bench_;
};

/// The ceilings of the device that computes, each measured when it is first asked for. Not
/// synchronised; the CPU outlives it.
class ProductPeaks {
 public:
  /// `accelerator` null: the CPU computes, by `threads` threads.
  ProductPeaks(const CpuDevice& cpu, std::shared_ptr<const Device> accelerator, int threads)
      : cpu_(cpu), accelerator_(std::move(accelerator)), threads_(threads) {}

  /// Operations per second of the ceiling of that name (Work::ceiling), of all threads; 0 where it
  /// could not be measured.
  double Of(std::string_view ceiling);

 private:
  double Measure(std::string_view ceiling) const;
  double Probe(const std::string& ceiling, bool for_bounds) const;

  const CpuDevice& cpu_;
  std::shared_ptr<const Device> accelerator_;
  int threads_;
  std::map<std::string, double, std::less<>> measured_;
};

/// The times of calls, as the bench samples those of launches.
Result<tuner::Summary> TimeCalls(const std::function<Status()>& call,
                                 const tuner::MeasureOptions& options);

}  // namespace fettle::tools
