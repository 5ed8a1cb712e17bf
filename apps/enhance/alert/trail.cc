#include "alert/trail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "alert/overlay.h"
#include "analysis/scene.h"

namespace fettle::enhance {
namespace {

std::string MomentText(const Sighting& sighting, double seconds) {
  return fmt::format("\"frame\": {}, \"time\": {:.6f}", sighting.frame,
                     static_cast<double>(sighting.time) * seconds);
}

std::string TextOf(const Alert& alert, double seconds) {
  std::vector<std::string> boxes;
  float best = 0;
  for (const Sighting& sighting : alert.sightings) {
    const auto& [box, score] = sighting.find;
    best = std::max(best, score);
    boxes.push_back(
        fmt::format("      {{{}, \"box\": [{:.1f}, {:.1f}, {:.1f}, {:.1f}], "
                    "\"score\": {:.3f}}}",
                    MomentText(sighting, seconds), box.x, box.y, box.width, box.height, score));
  }
  return fmt::format(
      "    {{\"id\": {}, \"class\": \"phone\", \"first\": {{{}}}, \"last\": {{{}}}, "
      "\"best_score\": {:.3f}, \"boxes\": [\n{}]}}",
      alert.id, MomentText(alert.sightings.front(), seconds),
      MomentText(alert.sightings.back(), seconds), best, fmt::join(boxes, ",\n"));
}

}  // namespace

void Trail::Replay(const std::string& rows) {
  for (size_t at = 0; at < rows.size();) {
    const size_t end = std::min(rows.find('\n', at), rows.size());
    int64_t time = 0;
    int scene = 0;
    const char* const last = rows.data() + end;
    const auto [blank, error] = std::from_chars(rows.data() + at, last, time);
    const bool timed = error == std::errc() && blank != last && *blank == ' ';
    const auto [finds, no_scene] = std::from_chars(timed ? blank + 1 : last, last, scene);
    if (!timed || no_scene != std::errc() || finds == last || *finds != ' ')
      throw Failure(kExitInvalidInput, "finds without a time or a scene");
    if (scene != scene_) tracks_.Cut();
    scene_ = scene;
    tracks_.Add(time, ReadFinds({finds, last}));
    ++frames_;
    at = end + 1;
  }
}

void Trail::Take(AVFrame& frame) {
  if (const char* finds = FindsOf(frame)) {
    const std::string row = fmt::format("{} {} {}\n", frame.pts, SceneOf(frame).number, finds);
    Replay(row);
    rows_ += row;
  }
  DrawBoxes(frame, tracks_.shown(), scale_, opacity_);
}

std::string Trail::TakeRows() { return std::exchange(rows_, {}); }

std::string Trail::Finish(double seconds) {
  std::vector<std::string> texts;
  for (const Alert& alert : tracks_.Finish()) texts.push_back(TextOf(alert, seconds));
  alerts_ = static_cast<int64_t>(texts.size());
  if (texts.empty()) return "[]";
  return fmt::format("[\n{}\n  ]", fmt::join(texts, ",\n"));
}

}  // namespace fettle::enhance
