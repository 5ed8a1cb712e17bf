// The end of the pipeline: frames into closed files of video.
#pragma once

#include "job/job_folder.h"

namespace fettle::enhance {

/// Cuts before key frames of the source once a segment is long, and at the latest when it is very
/// long, so that the cuts depend on the frames alone. One thread's.
class SegmentWriter {
 public:
  SegmentWriter(const EncoderSetup& setup, JobFolder& folder);
  ~SegmentWriter();
  /// Throws Failure.
  void Add(FramePtr frame, bool source_key);
  /// Closes the last segment and notes that there are no more.
  void Finish();

 private:
  struct Open;
  void Close();
  void Write(AVPacket& packet);

  const EncoderSetup& setup_;
  JobFolder& folder_;
  std::unique_ptr<Open> open_;
};

}  // namespace fettle::enhance
