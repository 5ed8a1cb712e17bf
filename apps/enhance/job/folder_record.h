// The record of a folder's finished files, kept in the folder of its outputs, so that the same
// command continues where it was interrupted and takes no other file for its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace fettle::enhance {

struct JobOptions;

/// A line for each output, written before the output appears. Thread-safe.
class FolderRecord {
 public:
  /// The record's name in the folder of the outputs.
  static constexpr std::string_view kName = ".fettle-folder";

  /// Reads what is there. Lines of other commands than `options` are kept and not heeded.
  FolderRecord(const std::filesystem::path& folder, const JobOptions& options);

  /// How many damaged places the input had, where `output` is what this command made of `input` as
  /// both are now. With `overwrite` only what was made since the command last came to its end.
  std::optional<int64_t> Finished(const std::filesystem::path& input,
                                  const std::filesystem::path& output, bool overwrite) const;
  /// Whether this command has once made `output`, or was about to.
  bool Began(const std::filesystem::path& output) const;
  /// `file` is about to become `output`.
  void Note(const std::filesystem::path& input, const std::filesystem::path& output,
            const std::filesystem::path& file, int64_t damaged);
  /// All files of the folder were done.
  void NoteEnd();

 private:
  struct Line {
    std::string output, source, result;
    int64_t damaged = 0;
    bool ended = false;  // the command came to its end afterwards
  };
  std::string NameOf(const std::filesystem::path& output) const;

  const std::filesystem::path folder_;
  const std::string command_;
  std::mutex writing_;
  std::vector<Line> lines_;  // as they were read
};

}  // namespace fettle::enhance
