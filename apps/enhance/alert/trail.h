// What the alert step found, frame by frame in their order: drawn on the way to the encoder, kept
// beside each segment, and told in one document at the end.
#pragma once

#include <filesystem>
#include <string>

#include "alert/tracks.h"

namespace fettle::enhance {

/// What decides which finds are told of.
struct AlertRules {
  double least_score = 0.55;
  Votes votes;
};

/// A row for each frame of the input: its time, its scene's number and its finds. Votes follow from
/// all rows since the first one, so that a job that goes on goes on with the same tracks.
class Trail {
 public:
  /// Boxes are drawn by `opacity`, `scale` times as large as they were found.
  Trail(Votes votes, int scale, double opacity)
      : tracks_(votes), scale_(scale), opacity_(opacity) {}

  /// Rows of earlier frames. Throws Failure (kExitInvalidInput) where they are none.
  void Replay(const std::string& rows);
  /// The next frame on its way to the encoder. One that nobody looked at, as it was made between
  /// two others, shows the boxes of the one before.
  void Take(AVFrame& frame);
  /// Of the frames since the last call.
  std::string TakeRows();
  /// "alerts" of the document: a list of what passed the vote, a line for each sighting. Times are
  /// `seconds` each.
  std::string Finish(double seconds);
  int64_t frames() const { return frames_; }
  int64_t alerts() const { return alerts_; }

 private:
  Tracks tracks_;
  const int scale_;
  const double opacity_;
  std::string rows_;
  int scene_ = 0;  // of the last frame
  int64_t frames_ = 0, alerts_ = 0;
};

}  // namespace fettle::enhance
