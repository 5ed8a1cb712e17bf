// The end of the pipeline: frames into closed files of video.
#pragma once

#include "alert/trail.h"
#include "job/job_folder.h"

namespace fettle::enhance {

/// Where frames of the result go, in their order. One thread's.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  /// A frame that `network` made. Returns how many frames the segment had that was closed before
  /// it, 0 where none was. Throws Failure.
  virtual int64_t Add(FramePtr frame, bool source_key, const std::string& network) = 0;
  /// There are no more.
  virtual void Finish() = 0;
};

/// Cuts before key frames of the source once a segment is long, and at the latest when it is very
/// long, so that the cuts depend on the frames alone; and where another network begins.
class SegmentWriter : public FrameSink {
 public:
  /// `trail`: what takes each frame before it is encoded, and whose rows are kept beside each
  /// segment; null: none. Must live as long.
  SegmentWriter(const EncoderSetup& setup, JobFolder& folder, Trail* trail);
  ~SegmentWriter() override;
  int64_t Add(FramePtr frame, bool source_key, const std::string& network) override;
  /// Closes the last segment and notes that there are no more.
  void Finish() override;

 private:
  struct Open;
  void Close(const std::string& next);
  void Write(AVPacket& packet);

  const EncoderSetup& setup_;
  JobFolder& folder_;
  Trail* const trail_;
  std::unique_ptr<Open> open_;
};

}  // namespace fettle::enhance
