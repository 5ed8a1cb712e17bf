// What each scene of a job cost, looked like and looks like now.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "analysis/scene.h"
#include "analysis/survey.h"
#include "av/av.h"

namespace fettle::enhance {

/// What can be measured in one frame; levels of 255.
struct Look {
  double light = 0, contrast = 0, noise = 0, blockiness = 1;
};
Look LookOf(const AVFrame& frame);

struct SceneRecord {
  int number = 0;
  int64_t first = 0;   // frame of the input
  int64_t frames = 0;  // of the output
  double seconds = 0;  // from its first frame's end to that of the next scene's
  Measures seen;       // light, black, white, noise; level where frames tell it
  bool sampled = false;
  Look before, after;
  std::string before_jpeg, after_jpeg;  // of one frame, where pictures are wanted
};

/// Thread-safe.
class SceneLog {
 public:
  struct Wanted {
    std::filesystem::path previews;  // folder of split pictures; empty: none
    bool pictures = false;           // in the records of the first scenes
  };
  explicit SceneLog(Wanted wanted);

  /// Whether Compare is to get this frame: the first one of a scene, and one a little later that
  /// takes its place.
  bool Wants(const AVFrame& frame) const;
  /// Throws Failure where a preview cannot be written.
  void Compare(const AVFrame& before, const AVFrame& after);
  /// Frames of the output in their order.
  void Add(const AVFrame& encoded);

  /// The current scene goes on for as long as it has lasted, then scenes cost what they did on
  /// average. 0 before anything is known.
  double SecondsFor(int64_t frames) const;
  std::vector<SceneRecord> records() const;

 private:
  const Wanted wanted_;
  mutable std::mutex mutex_;
  std::map<int, SceneRecord> scenes_;
  double last_;  // when the last frame came
};

}  // namespace fettle::enhance
