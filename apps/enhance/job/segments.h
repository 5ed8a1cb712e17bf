// The end of the pipeline: frames into closed files of video.
#pragma once

#include "job/job_folder.h"

namespace fettle::enhance {

/// Cuts before key frames of the source once a segment is long, and at the latest when it is very
/// long, so that the cuts depend on the frames alone; and where another network begins. One
/// thread's.
class SegmentWriter {
 public:
  SegmentWriter(const EncoderSetup& setup, JobFolder& folder);
  ~SegmentWriter();
  /// A frame that `network` made. Returns how many frames the segment had that was closed before
  /// it, 0 where none was. Throws Failure.
  int64_t Add(FramePtr frame, bool source_key, const std::string& network);
  /// Closes the last segment and notes that there are no more.
  void Finish();

 private:
  struct Open;
  void Close(const std::string& next);
  void Write(AVPacket& packet);

  const EncoderSetup& setup_;
  JobFolder& folder_;
  std::unique_ptr<Open> open_;
};

}  // namespace fettle::enhance
