#include "steps/strips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

namespace fettle::enhance {
namespace {

/// Pixels that a strip aims at, by the network's block: at a quarter of the resolution layers are
/// as fast beyond the second-level cache, and rows that are computed twice cost more.
constexpr int StripPixels(int block) { return block < 4 ? 80'000 : 320'000; }
constexpr int kLeastRows = 32;
/// How far the mean of a result may be from its source's before it is taken for an error.
constexpr double kMeanTolerance = 0.1;

}  // namespace

const Model& LoadedModel(const Network& network) {
  static std::mutex mutex;
  static std::map<std::string_view, Model> models;
  const std::lock_guard lock(mutex);
  const auto found = models.find(network.name);
  if (found != models.end()) return found->second;
  auto loaded = Model::LoadBytes(network.bytes, std::string(network.name));
  return models.emplace(network.name, std::move(loaded).value()).first->second;
}

int StripRows(int width, int height, const Network& network) {
  const int seen = 2 * network.halo;
  const int most = std::max(kLeastRows, StripPixels(network.block) / width);
  const int strips = std::max(1, (height - seen + most - 1) / most);
  const int rows = (height - seen + strips - 1) / strips;
  return std::min((std::max(rows, kLeastRows) + 3) / 4 * 4 + seen, height);
}

std::vector<Strip> StripsOf(int height, int rows, int halo) {
  std::vector<Strip> strips;
  for (int done = 0; done < height;) {
    const int first = std::clamp(done - halo, 0, height - rows);
    const bool last = first + rows == height;
    strips.push_back({first, done, last ? height : first + rows - halo});
    done = strips.back().end;
  }
  return strips;
}

void CheckMean(std::string_view step, double mean, const Plane& from) {
  if (!std::isfinite(mean) || std::abs(mean - MeanOf(from)) > kMeanTolerance)
    throw Failure(kExitFailed, FETTLE_INTERNAL,
                  fmt::format("{}: the result is wrong: it is not as bright as its source", step));
}

}  // namespace fettle::enhance
