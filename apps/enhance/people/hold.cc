#include "people/hold.h"

#include <algorithm>

namespace fettle::enhance {
namespace {

/// Shares from which on a place is somebody's: low, as what is missed is seen.
constexpr int kSomebody = 64;
/// Less than this of what is usual is a loss. What is usual follows what is there, slowly down.
constexpr double kLoss = 0.5;
constexpr double kForget = 1.0 / 48;
/// Fewer places than this share of all are nobody, whom one cannot lose.
constexpr double kNobody = 1.0 / 800;
/// A lost cover grows by one place each so many frames.
constexpr int kGrowEach = 4;
/// What of a person is taken for the head: of its height, and no more than of its width.
constexpr double kHeadHeight = 0.3, kHeadWidth = 1.2;

/// How far up a cover reaches for hats, of its width, and which gaps of its rows are filled.
constexpr double kHat = 1.0 / 3, kGap = 0.5;

/// The places that hang together with `start`, marked in `seen`.
std::vector<int> Component(const Map& map, int start, std::vector<uint8_t>& seen) {
  std::vector<int> places = {start};
  seen[static_cast<size_t>(start)] = 1;
  for (size_t next = 0; next < places.size(); ++next) {
    const int at = places[next], x = at % map.width;
    const auto visit = [&](int place, bool there) {
      if (!there || seen[static_cast<size_t>(place)] || !map.values[static_cast<size_t>(place)])
        return;
      seen[static_cast<size_t>(place)] = 1;
      places.push_back(place);
    };
    visit(at - 1, x > 0);
    visit(at + 1, x + 1 < map.width);
    visit(at - map.width, at >= map.width);
    visit(at + map.width, at + map.width < map.width * map.height);
  }
  return places;
}

struct Extent {
  int left, top, right, bottom;  // of places, the last ones included
  int width() const { return right - left + 1; }
  int height() const { return bottom - top + 1; }
};

Extent ExtentOf(const std::vector<int>& places, int across) {
  const auto column = [&](int place) { return place % across; };
  const auto [left, right] = std::ranges::minmax(places, {}, column);
  const auto [top, bottom] = std::ranges::minmax(places);
  return {column(left), top / across, column(right), bottom / across};
}

/// Adds what lies between two of a row that are at most `most` apart. `places` are in their order.
void FillGaps(int across, int most, std::vector<int>& places) {
  const size_t count = places.size();
  for (size_t i = 1; i < count; ++i) {
    const int last = places[i - 1], next = places[i];
    if (last / across != next / across || next - last > most) continue;
    for (int place = last + 1; place < next; ++place) places.push_back(place);
  }
}

}  // namespace

Map Hold::Add(const Map& shares, bool cut) {
  left_.resize(shares.values.size());
  const auto there = static_cast<double>(
      std::ranges::count_if(shares.values, [](int v) { return v >= kSomebody; }));
  if (cut) usual_ = 0;
  const double nobody = kNobody * static_cast<double>(shares.values.size());
  const bool missing = usual_ > nobody && there < kLoss * usual_;
  lost_ = missing && lost_ < kLostFrames ? lost_ + 1 : 0;
  if (lost_ == 0) usual_ = missing ? there : std::max(there, usual_ + kForget * (there - usual_));
  Map cover{shares.width, shares.height, std::vector<uint8_t>(shares.values.size())};
  for (size_t i = 0; i < left_.size(); ++i) {
    if (shares.values[i] >= kSomebody) {
      left_[i] = kHeldFrames + 1;
    } else if (lost_ == 0 && left_[i] > 0) {
      --left_[i];
    }
    cover.values[i] = left_[i] > 0 ? 255 : 0;
  }
  Grow(cover, (lost_ + kGrowEach - 1) / kGrowEach);
  return cover;
}

void CoverHats(Map& cover) {
  const Map found = cover;
  std::vector<uint8_t> seen(found.values.size());
  for (size_t start = 0; start < seen.size(); ++start) {
    if (seen[start] || found.values[start] == 0) continue;
    std::vector<int> places = Component(found, static_cast<int>(start), seen);
    std::ranges::sort(places);
    const Extent box = ExtentOf(places, found.width);
    FillGaps(found.width, static_cast<int>(kGap * box.width()), places);
    const int reach = static_cast<int>(kHat * std::min(box.width(), box.height()));
    for (const int place : places)
      for (int up = 0, at = place; up <= reach && at >= 0; ++up, at -= found.width)
        cover.values[static_cast<size_t>(at)] = 255;
  }
}

void AddMissingHeads(const Map& people, Map& heads) {
  std::vector<uint8_t> seen(people.values.size());
  for (size_t start = 0; start < seen.size(); ++start) {
    if (seen[start] || people.values[start] == 0) continue;
    const std::vector<int> places = Component(people, static_cast<int>(start), seen);
    const auto is_head = [&](int place) { return heads.values[static_cast<size_t>(place)] != 0; };
    if (std::ranges::any_of(places, is_head)) continue;
    const Extent box = ExtentOf(places, people.width);
    const int end =
        box.top + static_cast<int>(std::min(kHeadHeight * box.height(), kHeadWidth * box.width())) +
        1;
    for (const int place : places)
      if (place / people.width < end) heads.values[static_cast<size_t>(place)] = 255;
  }
}

}  // namespace fettle::enhance
