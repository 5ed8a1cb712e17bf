#include "analysis/scene.h"

#include <cstring>
#include <new>

namespace fettle::enhance {
namespace {

/// How far a scene's figures go to those of a new frame.
constexpr double kFollow = 0.1;
/// The same for noise, which is measured this often.
constexpr double kFollowNoise = 0.3;
constexpr int64_t kNoiseFrames = 16;

Scene Measured(const Histogram& histogram) {
  return {.light = MeanOf(histogram),
          .black = static_cast<double>(PercentileOf(histogram, 0.01)),
          .white = static_cast<double>(PercentileOf(histogram, 0.99))};
}

/// Every eighth row tells as much.
Histogram Sampled(const AVFrame& frame) {
  Plane luma = PlaneOf(frame, 0);
  luma.height = (luma.height + 7) / 8;
  luma.stride *= 8;
  return HistogramOf(luma);
}

}  // namespace

Scene SceneOf(const AVFrame& frame) {
  if (frame.opaque_ref == nullptr || frame.opaque_ref->size < sizeof(Scene))
    return Measured(Sampled(frame));
  Scene scene;
  std::memcpy(&scene, frame.opaque_ref->data, sizeof(scene));
  return scene;
}

void SceneTracker::FollowNoise(const AVFrame& frame, Scene& now) const {
  const int64_t in_scene = frames_ - now.first;
  now.noise = in_scene == 0 ? 0 : scene_.noise;
  if (!with_noise_ || in_scene % kNoiseFrames != 0) return;
  const double sigma = NoiseOf(PlaneOf(frame, 0));
  now.noise = in_scene == 0 ? sigma : now.noise + kFollowNoise * (sigma - now.noise);
}

void SceneTracker::Add(AVFrame& frame) {
  const Histogram histogram = Sampled(frame);
  Scene now = Measured(histogram);
  const bool cut = frames_ == 0 || Difference(last_, histogram) > kCut;
  if (cut) {
    now.number = frames_ == 0 ? 0 : scene_.number + 1;
    now.first = frames_;
  } else {
    const auto follow = [](double before, double after) {
      return before + kFollow * (after - before);
    };
    now.number = scene_.number;
    now.first = scene_.first;
    now.light = follow(scene_.light, now.light);
    now.black = follow(scene_.black, now.black);
    now.white = follow(scene_.white, now.white);
  }
  now.frame = frames_;
  FollowNoise(frame, now);
  scene_ = now;
  last_ = histogram;
  ++frames_;
  av_buffer_unref(&frame.opaque_ref);
  frame.opaque_ref = av_buffer_alloc(sizeof(Scene));
  if (frame.opaque_ref == nullptr) throw std::bad_alloc();
  std::memcpy(frame.opaque_ref->data, &scene_, sizeof(scene_));
}

}  // namespace fettle::enhance
