#include "job/batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "job/folder_record.h"

namespace fettle::enhance {
namespace {

namespace fs = std::filesystem;

constexpr std::array kExtensions = std::to_array<std::string_view>(
    {".mp4",   ".m4v",  ".mov", ".qt",  ".mkv",  ".webm", ".avi",  ".ts",   ".m2ts", ".mts",
     ".mpg",   ".mpeg", ".m2v", ".vob", ".wmv",  ".asf",  ".flv",  ".f4v",  ".3gp",  ".3g2",
     ".ogv",   ".nut",  ".mxf", ".264", ".h264", ".265",  ".hevc", ".ivf",  ".y4m",  ".mjpg",
     ".mjpeg", ".gif",  ".png", ".jpg", ".jpeg", ".bmp",  ".tif",  ".tiff", ".webp"});

bool IsKnown(const fs::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

void RefuseWhatIsOfOneInput(const JobOptions& options) {
  if (!options.report.empty())
    throw Failure(kExitUsage, "--report: a page is for one input, not for a folder");
  if (!options.alert_file.empty())
    throw Failure(kExitUsage, "--alert-file: the file is for one input, not for a folder");
  if (!options.plan_file.empty())
    throw Failure(kExitUsage, "--plan: a plan is for one input, not for a folder");
}

fs::path OutputFolder(const JobOptions& options) {
  if (!options.output.empty()) return options.output;
  // "clips/" has no name of its own at its end.
  fs::path folder = options.input.has_filename() ? options.input : options.input.parent_path();
  folder += "_enhanced";
  return folder;
}

/// What a folder holds.
struct Listing {
  std::vector<fs::path> files, folders, others;  // videos and pictures; below it; all else
};

/// Folders of unfinished jobs hold videos, too, but nobody's; hidden files are nobody's either.
bool IsOwn(const fs::path& path, const fs::path& output) {
  std::error_code ignored;
  const std::string name = path.filename().string();
  return name.starts_with(".") || name.find(".fettle-") != std::string::npos ||
         fs::equivalent(path, output, ignored);
}

/// Links to folders are not followed, as they may lead back.
void List(const fs::path& folder, const fs::path& output, bool deep, Listing& listing) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::directory_entry& entry = *at;
    std::error_code ignored;
    if (IsOwn(entry.path(), output)) continue;
    if (entry.is_directory(ignored)) {
      if (deep && !entry.is_symlink(ignored)) List(entry.path(), output, deep, listing);
      if (!deep) listing.folders.push_back(entry.path());
    } else {
      const bool known = entry.is_regular_file(ignored) && IsKnown(entry.path());
      (known ? listing.files : listing.others).push_back(entry.path());
    }
  }
  if (error) throw Failure(kExitFailed, fmt::format("{}: {}", folder.string(), error.message()));
}

/// "3 files that are no video or picture by their names: a.srt, b.txt, c.doc".
std::string Told(std::vector<fs::path> paths, std::string_view one, std::string_view many) {
  constexpr size_t kTold = 3;
  std::ranges::sort(paths);
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(paths.size(), kTold); ++i)
    names.push_back(paths[i].filename().string());
  if (paths.size() > kTold) names.emplace_back("...");
  return fmt::format("{} {}: {}", paths.size(), paths.size() == 1 ? one : many,
                     fmt::join(names, ", "));
}

std::vector<std::string> LeftOut(const Listing& listing) {
  std::vector<std::string> sentences;
  if (!listing.folders.empty())
    sentences.push_back("left out without --recursive: " +
                        Told(listing.folders, "folder", "folders"));
  if (!listing.others.empty())
    sentences.push_back("left out: " +
                        Told(listing.others, "file whose name is not that of a video or picture",
                             "files whose names are not those of videos or pictures"));
  return sentences;
}

/// A job for each video and picture, by their names; no two have one output.
std::vector<JobOptions> ListJobs(const JobOptions& options, const fs::path& folder,
                                 std::vector<fs::path> files) {
  std::vector<JobOptions> jobs;
  std::ranges::sort(files);
  std::set<fs::path> taken;
  for (const fs::path& file : files) {
    JobOptions& one = jobs.emplace_back(options);
    one.input = file;
    one.output = folder / file.lexically_relative(options.input);
    one.output.replace_extension(UsualOutput(file).extension());
    // a.264 and a.mkv
    if (!taken.insert(one.output).second)
      one.output.replace_filename(file.filename().string() + one.output.extension().string());
  }
  return jobs;
}

void MakeFolders(const std::vector<JobOptions>& jobs) {
  for (const JobOptions& job : jobs) {
    std::error_code error;
    const fs::path folder = job.output.parent_path();
    fs::create_directories(folder, error);
    if (error) throw Failure(kExitFailed, fmt::format("{}: {}", folder.string(), error.message()));
  }
}

}  // namespace

Batch BatchOf(const JobOptions& options) {
  if (!fs::is_directory(options.input)) {
    if (options.recursive) throw Failure(kExitUsage, "--recursive: the input is not a folder");
    JobOptions one = options;
    if (one.output.empty()) one.output = UsualOutput(one.input);
    return {.jobs = {one}};
  }
  RefuseWhatIsOfOneInput(options);
  const fs::path folder = OutputFolder(options);
  std::error_code error;
  if (fs::equivalent(folder, options.input, error))
    throw Failure(kExitUsage, folder.string() + ": is the input itself; name another output");
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw Failure(kExitUsage, folder.string() + ": is a file; the output of a folder is a folder");
  Listing listing;
  List(options.input, folder, options.recursive, listing);
  Batch batch{.jobs = ListJobs(options, folder, listing.files), .left_out = LeftOut(listing)};
  if (batch.jobs.empty())
    throw Failure(
        kExitInvalidInput, FETTLE_NOT_FOUND,
        fmt::format("{}: holds no video or picture{}", options.input.string(),
                    listing.folders.empty() ? "" : "; --recursive looks into its folders"));
  if (!options.plan_only) MakeFolders(batch.jobs);
  batch.record = std::make_shared<FolderRecord>(folder, options);
  for (JobOptions& job : batch.jobs) job.record = batch.record;
  return batch;
}

}  // namespace fettle::enhance
