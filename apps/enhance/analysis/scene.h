// The scene of a frame, and the scene's light.
#pragma once

#include "analysis/measures.h"
#include "av/av.h"

namespace fettle::enhance {

/// Of luma, of 255. Follows the frames of a scene slowly and restarts at a cut.
struct Scene {
  int number = 0;      // from 0 on
  int64_t first = 0;   // frame
  int64_t frame = 0;   // this one
  double light = 0;    // mean
  double black = 0;    // level below which a hundredth of the pixels lies
  double white = 255;  // the same for all but a hundredth
  double noise = 0;    // sigma, where the tracker measures it
};

/// The scene that a tracker noted at the beginning of the frame's opaque_ref; without one, a scene
/// measured on the frame alone.
Scene SceneOf(const AVFrame& frame);

/// Sees the frames of a video in their order, each in the format that steps take. The same frames
/// give the same scenes.
class SceneTracker {
 public:
  /// Noise takes a millisecond for 640x480 and is measured on every 16th frame of a scene.
  explicit SceneTracker(bool with_noise = false) : with_noise_(with_noise) {}
  /// The frame's properties get its scene.
  void Add(AVFrame& frame);

 private:
  void FollowNoise(const AVFrame& frame, Scene& now) const;

  const bool with_noise_;
  Scene scene_;
  Histogram last_ = {};
  int64_t frames_ = 0;
};

}  // namespace fettle::enhance
