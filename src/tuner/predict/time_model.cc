#include "tuner/predict/time_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/words.h"

namespace fettle::tuner {
namespace {

constexpr std::string_view kModelKey = "times of kernels 1";
constexpr std::string_view kModelHeader = "fettle times of kernels 1";
/// By level: rows that weigh as much as all levels above.
constexpr double kPriorRows[] = {1, 3, 3, 3, 3, 3, 3, 0.25, 1, 3, 3, 3, 0.25};
/// The levels of a kernel's main operators, whatever the device's instructions and of those,
/// counted from 0.
constexpr size_t kFamilyLevel = 3, kAlikeLevel = 8;
/// Steps in networks that weigh as much, and what the row of all kernels is called (Calibrations).
constexpr double kPriorSteps = 8;
constexpr std::string_view kAllKernels = "calibration";
/// By how much devices of the same instructions differ where none was left out to see it.
constexpr double kUsualSpread = 0.15;
/// Where nothing is known: anything between a tenth and ten times.
constexpr double kWideSpread = 1;
/// Times lie between a hundred-thousandth of a bound and so many of it.
constexpr double kMostLeafLog = 12;
constexpr int kMostLeafRows = 1'000'000'000;
constexpr size_t kMostLeaves = 400'000, kMostDevices = 4096, kLongestText = 12 << 20;

template <typename Number>
bool ReadNumber(std::string_view& line, Number least, Number most, Number& number) {
  const std::string_view word = TakeWord(line);
  const char* const end = word.data() + word.size();
  const auto [next, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && next == end && number >= least && number <= most;
}

bool ReadLeaf(std::string_view line, TimeModel& model) {
  TimeLeaf leaf;
  if (!ReadNumber(line, -kMostLeafLog, kMostLeafLog, leaf.median) ||
      !ReadNumber(line, 0.0, kMostLeafLog, leaf.spread) ||
      !ReadNumber(line, 1, kMostLeafRows, leaf.rows) ||
      !ReadNumber(line, 1, kMostLeafRows, leaf.devices) || line.empty())
    return false;
  model.Put(std::string(line), leaf);
  return true;
}

std::string_view LanesText(int threads) { return threads > 1 ? "several" : "one"; }

}  // namespace

std::string_view TimeModelKey() { return kModelKey; }

std::string TimeModel::NetworkKey(std::string_view kernel, int threads) {
  return fmt::format("network {} {}", kernel, LanesText(threads));
}

std::vector<TimeModel::Level> TimeModel::LevelsOf(const StepFacts& facts, double bound_us) {
  const std::string device = "device " + DeviceKindName(facts.device);
  const std::string kernel = fmt::format("kernel {} {}", facts.kernel, LanesText(facts.threads));
  const std::string family = fmt::format("{} {}", kernel, facts.family);
  const std::string way = fmt::format("{} {}{}", family, facts.way, facts.cold ? " cold" : "");
  const std::string same = fmt::format("same {:016x}{}", facts.problem, facts.cold ? " cold" : "");
  const double length = std::log2(std::clamp(bound_us, 0.01, 1e9)) / 2,
               shorter = std::floor(length);
  std::vector<Level> levels = {
      {device}, {fmt::format("{} {}", device, facts.work.ceiling)}, {kernel}};
  const auto add = [&](const std::string& behind) {
    levels.push_back({family + behind});
    levels.push_back({way + behind});
    levels.push_back(
        {fmt::format("{} {}{}", way, static_cast<int>(shorter), behind), 1 - (length - shorter)});
    levels.push_back(
        {fmt::format("{} {}{}", way, static_cast<int>(shorter) + 1, behind), length - shorter});
    levels.push_back({same + behind});
  };
  add("");
  add(" on " + facts.instructions);
  return levels;
}

std::string TimeModel::AcrossKey(std::string_view instructions) {
  return fmt::format("across {}", instructions);
}

std::optional<PredictedTime> TimeModel::Predict(const StepFacts& facts, double bound_us) const {
  if (!(bound_us > 0) || !std::isfinite(bound_us)) return std::nullopt;
  const std::vector<Level> levels = LevelsOf(facts, bound_us);
  const auto family = leaves_.find(levels[kFamilyLevel].key);
  if (family == leaves_.end()) return std::nullopt;
  double mean = 0, spread = kWideSpread;
  for (size_t i = 0; i < levels.size(); ++i) {
    const auto found = leaves_.find(levels[i].key);
    if (found == leaves_.end()) continue;
    const TimeLeaf& leaf = found->second;
    const double trust = levels[i].share * leaf.rows / (leaf.rows + kPriorRows[i]);
    mean += trust * (leaf.median - mean);
    spread += trust * (leaf.spread - spread);
  }
  const auto alike = leaves_.find(levels[kAlikeLevel].key);
  const auto across = leaves_.find(AcrossKey(facts.instructions));
  const TimeLeaf& from = alike == leaves_.end() ? family->second : alike->second;
  PredictedTime predicted{
      .us = bound_us * std::exp(mean),
      .spread = std::max(spread, across == leaves_.end() ? kUsualSpread : across->second.median),
      .rows = from.rows,
      .devices = from.devices,
      .alike = alike != leaves_.end()};
  double in_network = 0;
  for (const std::string_view of : {kAllKernels, std::string_view(facts.kernel)}) {
    const auto found = leaves_.find(NetworkKey(of, facts.threads));
    if (found == leaves_.end()) continue;
    const TimeLeaf& leaf = found->second;
    in_network += leaf.rows / (leaf.rows + kPriorSteps) * (leaf.median - in_network);
  }
  predicted.in_network = std::exp(in_network);
  return predicted;
}

void TimeModel::AddDevice(std::string_view fingerprint) {
  std::string& name = devices_.emplace_back(fingerprint);
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
}

std::string TimeModel::Print() const {
  std::string text = fmt::format("{}\n", kModelHeader);
  for (const std::string& device : devices_) text += fmt::format("device {}\n", device);
  for (const auto& [key, leaf] : leaves_)
    text += fmt::format("leaf {:.4f} {:.4f} {} {} {}\n", leaf.median, leaf.spread, leaf.rows,
                        leaf.devices, key);
  return text;
}

Result<TimeModel> TimeModel::Parse(std::string_view text) {
  TimeModel model;
  if (text.size() > kLongestText) return Error(StatusCode::kCorrupt, "the model is too long");
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = TakeLine(text);
    if (number == 1 && line == kModelHeader) continue;
    const std::string_view word = number == 1 ? "" : TakeWord(line);
    if (word == "device" && model.devices_.size() < kMostDevices)
      model.AddDevice(line);
    else if (word != "leaf" || model.leaves_.size() >= kMostLeaves || !ReadLeaf(line, model))
      return Error(StatusCode::kCorrupt, "times of kernels: line {} is not understood", number);
  }
  if (model.leaves_.empty())
    return Error(StatusCode::kCorrupt, "times of kernels: the text has none");
  return model;
}

Result<TimeModel> FindTimeModel(Store& store) {
  ASSIGN_OR_RETURN(const std::string text, store.FindDecision(std::string(kModelKey)));
  return TimeModel::Parse(text);
}

}  // namespace fettle::tuner
