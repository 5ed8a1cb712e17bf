#include "job/scene_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "analysis/measures.h"
#include "av/pixels.h"
#include "basics/files.h"
#include "picture/encoding.h"
#include "picture/level.h"

namespace fettle::enhance {
namespace {

/// Frames from a scene's first one to that which stands for it, past a fade.
constexpr int64_t kLater = 12;
/// A report's pictures: so many scenes, of at most so many columns.
constexpr int kMostPictures = 64, kMostColumns = 1280;

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

FramePtr Converted(const AVFrame& frame, AVPixelFormat format, int width, int height) {
  FramePtr copy(av_frame_clone(&frame));
  if (copy == nullptr) throw std::bad_alloc();
  return Converter(format, width, height).Convert(std::move(copy));
}

/// The left half of `before`, enlarged, beside the right half of `after`.
std::string SplitPng(const AVFrame& before, const AVFrame& after) {
  const FramePtr left = Converted(before, AV_PIX_FMT_RGB24, after.width, after.height);
  const FramePtr both = Converted(after, AV_PIX_FMT_RGB24, after.width, after.height);
  const int middle = after.width / 2;
  for (int y = 0; y < after.height; ++y) {
    uint8_t* row = both->data[0] + static_cast<ptrdiff_t>(y) * both->linesize[0];
    const uint8_t* from = left->data[0] + static_cast<ptrdiff_t>(y) * left->linesize[0];
    std::copy_n(from, static_cast<ptrdiff_t>(3) * middle, row);
    std::fill_n(row + static_cast<ptrdiff_t>(3) * middle, 3, uint8_t{255});
  }
  return EncodedPicture(AV_CODEC_ID_PNG, *both);
}

std::string Jpeg(const AVFrame& frame, int width, int height) {
  const int columns = std::min(width, kMostColumns) & ~1;
  const int rows =
      std::max(2, static_cast<int>(int64_t{height} * columns / std::max(1, width)) & ~1);
  if (columns < 2) return {};
  const FramePtr rgb = Converted(frame, AV_PIX_FMT_RGB24, columns, rows);
  const FramePtr jpeg = Converted(*rgb, AV_PIX_FMT_YUVJ420P, columns, rows);
  return EncodedPicture(AV_CODEC_ID_MJPEG, *jpeg);
}

}  // namespace

Look LookOf(const AVFrame& frame) {
  const Plane luma = PlaneOf(frame, 0);
  const Histogram histogram = HistogramOf(luma);
  return {.light = MeanOf(histogram),
          .contrast =
              static_cast<double>(PercentileOf(histogram, 0.95)) - PercentileOf(histogram, 0.05),
          .noise = NoiseOf(luma),
          .blockiness = BlockinessOf(luma)};
}

SceneLog::SceneLog(Wanted wanted) : wanted_(std::move(wanted)), last_(SteadySeconds()) {}

bool SceneLog::Wants(const AVFrame& frame) const {
  if (wanted_.previews.empty() && !wanted_.pictures) return false;
  const Scene scene = SceneOf(frame);
  return scene.frame == scene.first || scene.frame == scene.first + kLater;
}

void SceneLog::Compare(const AVFrame& before, const AVFrame& after) {
  const Scene scene = SceneOf(before);
  SceneRecord made{.before = LookOf(before), .after = LookOf(after)};
  if (wanted_.pictures && scene.number < kMostPictures) {
    made.before_jpeg = Jpeg(before, after.width, after.height);
    made.after_jpeg = Jpeg(after, after.width, after.height);
  }
  const std::string split = wanted_.previews.empty() ? "" : SplitPng(before, after);
  const std::lock_guard lock(mutex_);
  SceneRecord& record = scenes_[scene.number];
  if (record.sampled && scene.frame == scene.first) return;  // the later one was sooner
  record.number = scene.number;
  record.first = scene.first;
  record.sampled = true;
  record.before = made.before;
  record.after = made.after;
  record.before_jpeg = std::move(made.before_jpeg);
  record.after_jpeg = std::move(made.after_jpeg);
  if (!split.empty())
    WriteWhole(wanted_.previews / fmt::format("scene-{:05}.png", scene.number + 1), split);
}

void SceneLog::Add(const AVFrame& encoded) {
  const Scene scene = SceneOf(encoded);
  const std::lock_guard lock(mutex_);
  SceneRecord& record = scenes_[scene.number];
  record.number = scene.number;
  record.first = scene.first;
  ++record.frames;
  Measures& seen = record.seen;
  seen.light = scene.light;
  seen.black = scene.black;
  seen.white = scene.white;
  seen.noise = scene.noise;
  if (const double level = LevelOf(encoded); level >= 0) {
    seen.level_told = true;
    seen.level += (level - seen.level) / static_cast<double>(++seen.frames);
  }
  const double now = SteadySeconds();
  record.seconds += now - last_;
  last_ = now;
}

double SceneLog::SecondsFor(int64_t frames) const {
  const std::lock_guard lock(mutex_);
  double mean = 0;
  int count = 0;
  const SceneRecord* current = nullptr;
  for (const auto& [number, record] : scenes_) {
    if (record.frames == 0) continue;
    mean += record.seconds / static_cast<double>(record.frames);
    ++count;
    current = &record;
  }
  if (count == 0) return 0;
  mean /= count;
  const int64_t going_on = std::min(frames, current->frames);
  return static_cast<double>(going_on) * current->seconds / static_cast<double>(current->frames) +
         static_cast<double>(frames - going_on) * mean;
}

std::vector<SceneRecord> SceneLog::records() const {
  const std::lock_guard lock(mutex_);
  std::vector<SceneRecord> records;
  for (const auto& entry : scenes_) records.push_back(entry.second);
  return records;
}

}  // namespace fettle::enhance
