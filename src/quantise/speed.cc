#include "quantise/speed.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "importers/onnx/order.h"

namespace fettle::quantise {
namespace {

/// Networks that are no further apart count as equally fast.
constexpr double kTie = 0.03;

/// What the nodes of layers are called, in the order of the file. Writing changes the
/// indices of nodes, but neither the order of layers nor their operators.
std::vector<std::string> LayerNames(const std::vector<onnx::NodeRecord>& nodes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].op_type == "Conv" || nodes[i].op_type == "Gemm" || nodes[i].op_type == "MatMul")
      names.push_back(onnx::LabelOf(nodes[i], i));
  return names;
}

std::vector<std::string_view> Split(std::string_view names) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= names.size();) {
    const size_t end = std::min(names.find('+', at), names.size());
    parts.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// The time of each name, of steps in equal parts.
std::map<std::string, double, std::less<>> TimesOf(const std::vector<std::string>& names,
                                                   const RunTimes& run) {
  const std::set<std::string, std::less<>> wanted(names.begin(), names.end());
  std::map<std::string, double, std::less<>> times;
  for (const auto& [step, ms] : run.steps) {
    std::vector<std::string_view> layers = Split(step);
    std::erase_if(layers, [&](std::string_view name) { return !wanted.contains(name); });
    for (std::string_view name : layers)
      times[std::string(name)] += ms / static_cast<double>(layers.size());
  }
  return times;
}

std::optional<double> Find(const std::map<std::string, double, std::less<>>& times,
                           std::string_view name) {
  const auto found = times.find(name);
  return found == times.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

Result<std::vector<LayerTimes>> TimesOfLayers(const Network& network,
                                              const std::vector<Layer>& layers,
                                              const std::string& bytes, const RaceTimes& race) {
  ASSIGN_OR_RETURN(const onnx::ModelRecord written, onnx::ReadModel(bytes));
  const auto plain_names = LayerNames(network.nodes());
  const auto quantised_names = LayerNames(written.graph.nodes);
  const auto plain = TimesOf(plain_names, race.plain);
  const auto quantised = TimesOf(quantised_names, race.quantised);
  std::vector<LayerTimes> times(layers.size());
  if (plain_names.size() != quantised_names.size()) return times;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto place = std::ranges::find(plain_names, layers[i].name);
    if (place == plain_names.end()) continue;
    times[i] = {Find(plain, *place),
                Find(quantised, quantised_names[static_cast<size_t>(place - plain_names.begin())])};
  }
  return times;
}

Result<std::vector<Timed>> RaceFewer(
    const Timed& all, const std::vector<LayerTimes>& layers,
    const std::function<Result<double>(const std::vector<bool>& quantised, double share)>& times) {
  std::vector<size_t> order;
  for (size_t i = 0; i < layers.size(); ++i)
    if (all.quantised[i]) order.push_back(i);
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return layers[i].loss(); });
  const auto losing = static_cast<size_t>(
      std::ranges::count_if(order, [&](size_t i) { return layers[i].loss() > 0; }));
  std::set<size_t> counts = {losing / 4, losing / 2, losing, (losing + order.size()) / 2};
  counts.erase(0);
  counts.erase(order.size());
  if (losing == 0 && all.ratio <= 1) counts.clear();
  std::vector<Timed> tried = {all};
  for (size_t count : counts) {
    Timed fewer{all.quantised};
    for (size_t i = 0; i < count; ++i) fewer.quantised[order[i]] = false;
    const auto share = static_cast<double>(tried.size()) / static_cast<double>(counts.size() + 1);
    ASSIGN_OR_RETURN(fewer.ratio, times(fewer.quantised, share));
    tried.push_back(std::move(fewer));
  }
  tried.push_back({std::vector<bool>(layers.size()), 1, true});
  return tried;
}

size_t FastEnough(const std::vector<Timed>& tried) {
  const double best = std::ranges::min(tried, {}, &Timed::ratio).ratio;
  return static_cast<size_t>(
      std::ranges::find_if(tried,
                           [&](const Timed& one) { return one.ratio <= best * (1 + kTie); }) -
      tried.begin());
}

}  // namespace fettle::quantise
