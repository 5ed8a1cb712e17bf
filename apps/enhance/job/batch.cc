#include "job/batch.h"

#include <algorithm>
#include <array>
#include <set>

namespace fettle::enhance {
namespace {

constexpr std::array<std::string_view, 26> kExtensions = {
    ".mp4",  ".m4v", ".mov", ".mkv",  ".webm", ".avi", ".ts",   ".m2ts", ".mpg",
    ".mpeg", ".wmv", ".flv", ".3gp",  ".ogv",  ".nut", ".264",  ".h264", ".265",
    ".y4m",  ".png", ".jpg", ".jpeg", ".bmp",  ".tif", ".tiff", ".webp"};

bool IsKnown(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

void RefuseWhatIsOfOneInput(const JobOptions& options) {
  if (!options.report.empty())
    throw Failure(kExitUsage, "--report: a page is of one input, not of a folder");
  if (!options.alert_file.empty())
    throw Failure(kExitUsage, "--alert-file: it tells of one input, not of a folder");
  if (!options.plan_file.empty())
    throw Failure(kExitUsage, "--plan: a plan is of one input, not of a folder");
}

std::filesystem::path OutputFolder(const JobOptions& options) {
  if (!options.output.empty()) return options.output;
  // "clips/" has no name of its own at its end.
  std::filesystem::path folder =
      options.input.has_filename() ? options.input : options.input.parent_path();
  folder += "_enhanced";
  return folder;
}

/// A job for each video and picture, by their names; no two have one output.
std::vector<JobOptions> ListJobs(const JobOptions& options, const std::filesystem::path& folder) {
  std::vector<JobOptions> jobs;
  for (const auto& entry : std::filesystem::directory_iterator(options.input)) {
    if (!entry.is_regular_file() || !IsKnown(entry.path())) continue;
    JobOptions one = options;
    one.input = entry.path();
    one.output = folder / entry.path().filename();
    one.output.replace_extension(UsualOutput(entry.path()).extension());
    jobs.push_back(one);
  }
  std::ranges::sort(jobs, {}, &JobOptions::input);
  std::set<std::filesystem::path> taken;
  for (JobOptions& job : jobs) {
    // a.264 and a.mkv
    if (!taken.insert(job.output).second)
      job.output = folder / (job.input.filename().string() + job.output.extension().string());
  }
  return jobs;
}

}  // namespace

std::vector<JobOptions> JobsOf(const JobOptions& options) {
  if (!std::filesystem::is_directory(options.input)) {
    JobOptions one = options;
    if (one.output.empty()) one.output = UsualOutput(one.input);
    return {one};
  }
  RefuseWhatIsOfOneInput(options);
  const std::filesystem::path folder = OutputFolder(options);
  std::error_code error;
  if (std::filesystem::equivalent(folder, options.input, error))
    throw Failure(kExitUsage, folder.string() + ": is the input, too");
  std::vector<JobOptions> jobs = ListJobs(options, folder);
  if (jobs.empty())
    throw Failure(kExitInvalidInput, FETTLE_NOT_FOUND,
                  options.input.string() + ": holds no video or picture");
  if (!options.plan_only && !std::filesystem::create_directory(folder, error) && error)
    throw Failure(kExitFailed, folder.string() + ": " + error.message());
  return jobs;
}

}  // namespace fettle::enhance
