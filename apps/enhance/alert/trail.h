// The finds of the alert step, frame by frame in order: drawn on the way to the encoder, kept
// beside each segment, and reported in one document at the end.
#pragma once

#include <filesystem>
#include <string>

#include "alert/tracks.h"

namespace fettle::enhance {

/// Decides which finds are reported.
struct AlertRules {
  double least_score = 0.55;
  Votes votes;
};

/// A row for each frame of the input: its time, its scene's number and its finds. Votes follow from
/// all rows since the first one, so a resumed job continues the same tracks.
class Trail {
 public:
  /// Boxes are drawn by `opacity`, `scale` times as large as they were found.
  Trail(Votes votes, int scale, double opacity)
      : tracks_(votes), scale_(scale), opacity_(opacity) {}

  /// Rows of earlier frames. Throws Failure (kExitInvalidInput) for any other text.
  void Replay(const std::string& rows);
  /// The next frame on its way to the encoder. A frame that was made between two others, so that
  /// the detector did not see it, shows the boxes of the one before.
  void Take(AVFrame& frame);
  /// Of the frames since the last call.
  std::string TakeRows();
  /// "alerts" of the document: the things that passed the vote, with a line for each sighting.
  /// Times are in units of `seconds`.
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
