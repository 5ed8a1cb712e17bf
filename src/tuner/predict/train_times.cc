#include "tuner/predict/train_times.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "kernels/backend.h"
#include "tuner/cost/accelerator_roofline.h"
#include "tuner/cost/roofline.h"
#include "tuner/measure/statistics.h"
#include "tuner/store/row_key.h"

namespace fettle::tuner {
namespace {

/// Of times over bounds, as logarithms: what is farther off is no time of this problem.
constexpr double kMostTimeLog = 9;
/// More devices are learned from, but not left out one after the other.
constexpr size_t kMostLeftOut = 64;
constexpr double kQuarter = 1.25;
constexpr std::string_view kCeilingOf = "ceiling ", kInNetworksOn = "in networks threads ";

/// One way to compute one problem on one device.
struct TimedStep {
  StepFacts facts;
  double us = 0, bound_us = 0;
  size_t device = 0;
  double Log() const { return std::log(us / bound_us); }
};

struct DeviceOfRows {
  Ceilings ceilings;
  CpuInfo caches;
};

/// "...; L1d 32768 L2 524288 L3 33554432; ..." of a CPU's fingerprint.
CpuInfo CachesOf(std::string_view fingerprint) {
  CpuInfo info;
  const auto read = [&](std::string_view name, int64_t& bytes) {
    const size_t at = fingerprint.find(name);
    if (at == std::string_view::npos) return;
    const std::string_view text = fingerprint.substr(at + name.size());
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    bytes = std::clamp<int64_t>(bytes, 0, int64_t{1} << 40);
  };
  read("; L1d ", info.l1d_bytes);
  read(" L2 ", info.l2_bytes);
  read(" L3 ", info.l3_bytes);
  return info;
}

/// A factor that weighs as much as its share.
struct Weighed {
  double log = 0, share = 1;
  size_t device = 0;
};

double WeighedMedian(std::vector<std::pair<double, double>> values) {
  std::sort(values.begin(), values.end());
  double all = 0, seen = 0;
  for (const auto& [value, share] : values) all += share;
  for (const auto& [value, share] : values) {
    seen += share;
    if (seen >= all / 2) return value;
  }
  return 0;
}

TimeLeaf LeafOf(const std::vector<Weighed>& samples) {
  std::vector<std::pair<double, double>> logs, distances;
  std::vector<size_t> devices;
  double rows = 0;
  for (const Weighed& sample : samples) {
    logs.emplace_back(sample.log, sample.share);
    devices.push_back(sample.device);
    rows += sample.share;
  }
  const double median = WeighedMedian(std::move(logs));
  for (const Weighed& sample : samples)
    distances.emplace_back(std::fabs(sample.log - median), sample.share);
  std::sort(devices.begin(), devices.end());
  const auto last = std::unique(devices.begin(), devices.end());
  return {median, WeighedMedian(std::move(distances)),
          std::max(1, static_cast<int>(std::lround(rows))),
          static_cast<int>(last - devices.begin())};
}

/// All but what `left_out` measured.
constexpr size_t kNobody = static_cast<size_t>(-1);
TimeModel ModelOf(const std::vector<TimedStep>& samples, size_t left_out) {
  std::map<std::string, std::vector<Weighed>> groups;
  for (const TimedStep& sample : samples) {
    if (sample.device == left_out) continue;
    for (const TimeModel::Level& level : TimeModel::LevelsOf(sample.facts, sample.bound_us))
      if (level.share > 0) groups[level.key].push_back({sample.Log(), level.share, sample.device});
  }
  TimeModel model;
  for (const auto& [key, group] : groups) model.Put(key, LeafOf(group));
  return model;
}

class Trainer {
 public:
  Status Read(Database& database) {
    RETURN_IF_ERROR(database.ForEachRow([&](const RowRecord& record) {
      ReadRow(record);
      return OkStatus();
    }));
    Judge();
    return OkStatus();
  }

  Result<TimeTraining> Finish() {
    for (TimedStep& sample : samples_) ++result_.devices[sample.device].rows;
    result_.used = std::ssize(samples_);
    if (samples_.empty())
      return Error(StatusCode::kNotFound,
                   "no device has both times and ceilings (`fettle peak` and `fettle tune`)");
    result_.model = ModelOf(samples_, kNobody);
    for (const auto& [key, group] : networks_) result_.model.Put(key, LeafOf(group));
    for (const TrainedDevice& device : result_.devices)
      if (device.rows > 0) result_.model.AddDevice(device.fingerprint);
    const size_t left_out = std::min(result_.devices.size(), kMostLeftOut);
    for (size_t device = 0; device < left_out; ++device)
      if (result_.devices[device].rows > 0) LeaveOut(device);
    for (const auto& [instructions, logs] : across_)
      result_.model.Put(TimeModel::AcrossKey(instructions),
                        {std::min(Median(logs), kMostTimeLog), 0,
                         static_cast<int>(std::min<size_t>(logs.size(), 1'000'000)), 1});
    return std::move(result_);
  }

 private:
  size_t DeviceOf(const std::string& fingerprint) {
    const auto [at, is_new] = index_.try_emplace(fingerprint, result_.devices.size());
    if (!is_new) return at->second;
    result_.devices.push_back({.fingerprint = fingerprint});
    devices_.push_back({.caches = CachesOf(fingerprint)});
    return at->second;
  }

  void ReadRow(const RowRecord& record) {
    const auto& [key, row] = record;
    if (row.status != Row::Status::kOk || !std::isfinite(row.median_us) || row.median_us <= 0)
      return;
    if (IsCeiling(key)) {
      const double best = row.low_us > 0 && std::isfinite(row.low_us) ? row.low_us : row.median_us;
      devices_[DeviceOf(key.device)].ceilings[key.problem.substr(kCeilingOf.size())] = best;
    } else if (IsTimed(key)) {
      if (!key.problem.starts_with("enqueueing ")) ReadTime(key, row);
    } else if (key.problem.starts_with(kInNetworksOn)) {
      ReadFactor(key, row);
    }
  }

  void ReadTime(const RowKey& key, const Row& row) {
    ++result_.rows;
    Result<StepFacts> facts = FactsOf(key);
    if (!facts.ok()) {
      ++result_.refused;
      return;
    }
    const size_t device = DeviceOf(key.device);
    const auto [at, is_new] =
        by_problem_.try_emplace({device, facts->problem, facts->cold}, samples_.size());
    if (is_new)
      samples_.push_back({.facts = *std::move(facts), .us = row.median_us, .device = device});
    else
      samples_[at->second].us = std::min(samples_[at->second].us, row.median_us);
  }

  /// Of a kernel on so many threads, in whatever states.
  void ReadFactor(const RowKey& key, const Row& row) {
    const std::string_view text = std::string_view(key.problem).substr(kInNetworksOn.size());
    int threads = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
    const bool is_ours = key.kernel == "calibration" || key.kernel == "cpu.convert" ||
                         kernels::FindKernel(key.kernel) != nullptr;
    if (error != std::errc() || end != text.data() + text.size() || row.samples <= 0 || !is_ours)
      return;
    const double log = std::log(row.median_us);
    if (std::fabs(log) < kMostTimeLog)
      networks_[TimeModel::NetworkKey(key.kernel, threads)].push_back(
          {log, std::min(row.samples, 64) * 1.0, DeviceOf(key.device)});
  }

  double BoundOf(const TimedStep& sample) const {
    const DeviceOfRows& device = devices_[sample.device];
    const StepFacts& facts = sample.facts;
    return facts.device == DeviceKind::kCpu
               ? LeastMicroseconds(facts.work, facts.threads, device.ceilings, device.caches)
               : LeastMicroseconds(facts.work, device.ceilings);
  }

  /// Bounds of all samples, and which of them say something.
  void Judge() {
    for (size_t d = 0; d < devices_.size(); ++d) {
      const Ceilings& ceilings = devices_[d].ceilings;
      const auto has = [&](std::string_view name) {
        const auto found = ceilings.find(name);
        return found != ceilings.end() && found->second > 0;
      };
      if (!has("fp32 fma") || (!has("DRAM copy") && !has("cached read")))
        result_.devices[d].refused = "its ceilings are not known: run `fettle peak` there";
    }
    std::erase_if(samples_, [&](TimedStep& sample) {
      if (!result_.devices[sample.device].refused.empty()) return true;
      sample.bound_us = BoundOf(sample);
      return !(sample.bound_us > 0) || !(std::fabs(sample.Log()) < kMostTimeLog);
    });
  }

  void LeaveOut(size_t left_out) {
    const TimeModel others = ModelOf(samples_, left_out);
    std::vector<double> logs, distances;
    int64_t within = 0;
    for (const TimedStep& sample : samples_) {
      if (sample.device != left_out) continue;
      const auto predicted = others.Predict(sample.facts, sample.bound_us);
      if (!predicted) continue;
      logs.push_back(std::log(predicted->us / sample.us));
      distances.push_back(std::fabs(logs.back()));
      if (predicted->alike) across_[sample.facts.instructions].push_back(distances.back());
      within += distances.back() < std::log(kQuarter) ? 1 : 0;
    }
    if (logs.empty()) return;
    TrainedDevice& device = result_.devices[left_out];
    device.predicted = std::ssize(logs);
    device.within = static_cast<double>(within) / static_cast<double>(logs.size());
    device.bias = std::exp(Median(std::move(logs)));
    device.error = std::exp(Median(std::move(distances)));
  }

  TimeTraining result_;
  std::vector<DeviceOfRows> devices_;  // as in result_
  std::map<std::string, size_t> index_;
  std::vector<TimedStep> samples_;
  std::map<std::tuple<size_t, uint64_t, bool>, size_t> by_problem_;
  std::map<std::string, std::vector<Weighed>> networks_;
  /// By instructions: how far devices that have them predict each other wrongly.
  std::map<std::string, std::vector<double>> across_;
};

}  // namespace

Result<TimeTraining> TrainTimes(Database& database) {
  Trainer trainer;
  RETURN_IF_ERROR(trainer.Read(database));
  return trainer.Finish();
}

}  // namespace fettle::tuner
