#include <algorithm>
#include <cmath>
#include <numeric>

#include "advice/channel_group.h"
#include "advice/rules.h"

namespace fettle::tools {
namespace {

constexpr double kEpsilon = 1e-5;  // of normalisations

/// For each place along an axis, the sum of the squares there.
std::vector<double> SquaresAlong(const Constant& constant, int axis) {
  std::vector<double> sums(static_cast<size_t>(constant.shape()[axis]));
  const int64_t stride = RowMajorStrides(constant.shape())[static_cast<size_t>(axis)];
  for (int64_t i = 0; i < constant.elements(); ++i) {
    const double value = constant.GetDouble(i);
    sums[static_cast<size_t>(i / stride) % sums.size()] += value * value;
  }
  return sums;
}

/// What each channel carries, by weights alone.
std::vector<double> WeightsOf(const quantise::Network& network, const ChannelGroup& group) {
  const auto channels = static_cast<size_t>(group.channels());
  std::vector<double> written(channels), read(channels), scale(channels, 1), weights(channels);
  for (const auto& [operand, axes] : group.constants()) {
    const Constant& constant =
        *network.constant(network.node(operand.first).inputs[operand.second]);
    for (const auto& [axis, role] : axes) {
      const std::vector<double> squares = SquaresAlong(constant, axis);
      for (size_t c = 0; c < channels; ++c) {
        if (role == ChannelRole::kWriter || role == ChannelRole::kBias) written[c] += squares[c];
        if (role == ChannelRole::kReader) read[c] += squares[c];
        if (role == ChannelRole::kScale) scale[c] *= squares[c];
        if (role == ChannelRole::kVariance) scale[c] /= std::sqrt(squares[c]) + kEpsilon;
      }
    }
  }
  for (size_t c = 0; c < channels; ++c) weights[c] = std::sqrt(written[c] * scale[c] * read[c]);
  return weights;
}

/// A place with the channels that go, and the part of the change that is about it.
Change Trim(const quantise::Network& network, const ChannelGroup& group, int64_t size) {
  const std::vector<double> weights = WeightsOf(network, group);
  std::vector<int64_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](int64_t c) { return weights[static_cast<size_t>(c)]; });
  TrimmedPlace place{.channels = group.channels(), .dropped = {order.begin() + size, order.end()}};
  std::vector<int64_t> kept(order.begin(), order.begin() + size);
  std::ranges::sort(kept);
  std::ranges::sort(place.dropped);
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (int64_t c : place.dropped) place.carried += weights[static_cast<size_t>(c)];
  place.carried = all > 0 ? place.carried / all : 0;
  Change change{.rule = "trim",
                .text = fmt::format("{} channels instead of {}", size, group.channels()),
                .where = *group.values().begin(),
                .nodes = group.nodes(),
                .channels = size};
  for (const auto& [operand, axes] : group.constants())
    for (const auto& [axis, role] : axes) {
      change.cuts[operand][axis] = kept;
      if (role == ChannelRole::kWriter) place.writers.push_back(operand.first);
    }
  for (size_t node : group.depthwise()) change.edits[node].attributes["group"] = size;
  change.places.push_back(std::move(place));
  return change;
}

/// One change of several, which differ in their places.
Change Together(const std::vector<const Change*>& parts, std::string_view which) {
  Change all{.rule = "trim",
             .text = fmt::format("{} in {} places{}", parts[0]->text, parts.size(), which),
             .where = parts[0]->where,
             .channels = parts[0]->channels};
  for (const Change* part : parts) {
    all.nodes.insert(part->nodes.begin(), part->nodes.end());
    all.places.insert(all.places.end(), part->places.begin(), part->places.end());
    for (const auto& [operand, axes] : part->cuts)
      all.cuts[operand].insert(axes.begin(), axes.end());
    for (const auto& [node, edit] : part->edits) all.edits[node] = edit;
  }
  return all;
}

/// Those of changes of equal sizes that share no node with an earlier one.
std::vector<const Change*> Apart(const std::vector<const Change*>& parts) {
  std::vector<const Change*> apart;
  std::set<size_t> taken;
  for (const Change* part : parts) {
    if (std::ranges::any_of(part->nodes, [&](size_t node) { return taken.contains(node); }))
      continue;
    taken.insert(part->nodes.begin(), part->nodes.end());
    apart.push_back(part);
  }
  return apart;
}

}  // namespace

Status TrimChannels(Subject& subject, std::vector<Change>& changes) {
  std::vector<Change> single;
  for (const ChannelGroup& group : ListChannelGroups(subject)) {
    std::set<int64_t> sizes;
    for (int64_t multiple : kChannelMultiples)
      sizes.insert((group.channels() - 1) / multiple * multiple);
    for (int64_t size : sizes)
      if (2 * size >= group.channels()) single.push_back(Trim(subject.network, group, size));
  }
  std::map<std::pair<int64_t, int64_t>, std::vector<const Change*>> alike;
  for (const Change& change : single)
    alike[{change.places[0].channels, change.channels}].push_back(&change);
  for (const auto& [sizes, parts] : alike) {
    if (parts.size() < 2) continue;
    changes.push_back(Together(parts, ""));
    const std::vector<const Change*> apart = Apart(parts);
    if (apart.size() > 1 && apart.size() < parts.size())
      changes.push_back(Together(apart, ", no two of which meet"));
  }
  std::ranges::move(single, std::back_inserter(changes));
  return OkStatus();
}

}  // namespace fettle::tools
