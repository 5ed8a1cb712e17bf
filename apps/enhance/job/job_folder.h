// The folder beside an output that holds an unfinished job: what it was asked for, and the segments
// that are done. A process that dies at any moment leaves whole segments and whole lines.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "basics/files.h"
#include "job/plan.h"

namespace fettle::enhance {

/// Times in a segment's file begin here: its decoding times count packets from 0 on, and none may
/// be after that of presentation, or negative.
constexpr int64_t kSegmentStart = 1024;

/// A line of the journal: a closed file of video. Times are in the encoder's time base.
struct Segment {
  int64_t frames = 0;
  uint64_t bytes = 0, hash = 0;
  int64_t first_time = 0;                    // of its first frame, kSegmentStart in the file
  int64_t last_time = 0, last_duration = 0;  // of its last frame
  int delay = 0;                             // of its packets (av/decode_order.h)
  std::string network, next;                 // of all its frames, and of those that follow
  uint64_t rows_hash = 0;  // of the file of rows beside it (alert/trail.h); 0: there is none
};

class JobFolder {
 public:
  /// OUTPUT.fettle-job.
  static std::filesystem::path PathFor(const std::filesystem::path& output);
  /// Whether a job with all its frames waits at an output: a file there is what it has made of them
  /// itself, killed before it could say that it is over.
  static bool WaitsComplete(const std::filesystem::path& output);
  /// Removes what a job whose file is in its place has left, killed before all of it went. Throws
  /// Failure where another process still has it.
  static void RemoveRest(const std::filesystem::path& output);
  /// What the options leave open (threads, network) as the job has it that waits at their output:
  /// the same gives the same bytes.
  static void Settle(JobOptions& options);

  /// Makes the folder, or goes on with the one that is there. Throws Failure: kExitUsage where that
  /// is of another plan, program or processor.
  JobFolder(const Plan& plan, bool restart);

  /// Those whose file is whole; the rest of the journal is forgotten.
  const std::vector<Segment>& segments() const { return segments_; }
  int64_t frames() const;
  /// Whether all frames are in segments.
  bool complete() const { return complete_; }

  std::filesystem::path SegmentPath(size_t index) const;
  std::filesystem::path path(const std::string& name) const { return path_ / name; }
  /// What is kept beside a segment.
  std::filesystem::path RowsPath(size_t index) const;
  /// Moves a finished file into place, writes `rows` beside it, and notes both.
  void AddSegment(const std::filesystem::path& file, Segment segment,
                  const std::optional<std::string>& rows);
  void NoteComplete();
  /// The job is over, from one moment to the next, whenever what is left goes.
  void Remove();

 private:
  void ReadJournal();
  std::filesystem::path path_;
  std::unique_ptr<FileLock> lock_;
  std::vector<Segment> segments_;
  bool complete_ = false;
};

}  // namespace fettle::enhance
