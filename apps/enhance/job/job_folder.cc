#include "job/job_folder.h"

#include <fettle/fettle.h>
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

extern "C" {
#include <libavutil/cpu.h>
}

namespace fettle::enhance {
namespace {

using Json = nlohmann::ordered_json;

/// Of what the lines of a journal say.
constexpr int kJournalVersion = 2;

/// The journal's last line, once all frames are in segments.
constexpr std::string_view kComplete = "{\"complete\":true}";

/// What decides the bytes of the result.
Json ManifestOf(const Plan& plan) {
  Json manifest = {{"journal", kJournalVersion},
                   {"input", std::filesystem::canonical(plan.input).string()},
                   {"source", FingerprintOf(plan.input)},
                   {"start", plan.cut.start},
                   {"duration", plan.cut.duration},
                   {"size", fmt::format("{}x{}", plan.encoder.width, plan.encoder.height)},
                   {"steps", TextOf(plan.chain)},
                   {"network", plan.first.network},
                   {"level", plan.first.level},
                   {"own_levels", plan.first.own_levels},
                   {"noise", plan.first.noise},
                   {"own_noise", plan.first.own_noise},
                   {"dither", plan.first.dither},
                   {"encoder", plan.encoder.name},
                   {"encoder_options", plan.encoder.options},
                   {"threads", plan.threads},
                   {"fettle", fettle_version()},
                   {"libavcodec", avcodec_version()},
                   {"cpu_flags", av_get_cpu_flags()}};
  if (plan.alerts) {
    manifest["alert_score"] = plan.alerts->least_score;
    manifest["alert_votes"] = {plan.alerts->votes.seen, plan.alerts->votes.of};
  }
  return manifest;
}

/// The first field that differs.
std::string Difference(const Json& there, const Json& wanted) {
  for (const auto& [name, value] : wanted.items())
    if (!there.contains(name) || there[name] != value)
      return fmt::format("{} was {} and is {} now", name,
                         there.contains(name) ? there[name].dump() : "not there", value.dump());
  return "";
}

std::string LineOf(const Segment& segment) {
  Json line = {{"frames", segment.frames},
               {"bytes", segment.bytes},
               {"hash", segment.hash},
               {"first_time", segment.first_time},
               {"last_time", segment.last_time},
               {"last_duration", segment.last_duration},
               {"delay", segment.delay},
               {"network", segment.network},
               {"next", segment.next}};
  if (segment.rows_hash != 0) line["rows_hash"] = segment.rows_hash;
  return line.dump();
}

bool IsWhole(const std::filesystem::path& path, uint64_t hash) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && HashFile(path) == hash;
}

Json ReadManifest(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return Json::parse(stream, nullptr, false);
}

/// Where the folder of a job that is over goes.
std::filesystem::path OverPath(const std::filesystem::path& folder) {
  return folder.string() + "-over";
}

/// Ends the job at once, by a rename; its files may be removed later.
void RetireAt(const std::filesystem::path& folder) {
  std::filesystem::rename(folder, OverPath(folder));
  std::filesystem::remove_all(OverPath(folder));
}

}  // namespace

std::filesystem::path JobFolder::PathFor(const std::filesystem::path& output) {
  std::filesystem::path path = output;
  return path += ".fettle-job";
}

void JobFolder::RemoveRest(const std::filesystem::path& output) {
  const std::filesystem::path path = PathFor(output);
  std::error_code error;
  std::filesystem::remove_all(OverPath(path), error);
  if (!std::filesystem::exists(path)) return;
  const FileLock lock(path / "lock");
  RetireAt(path);
}

void JobFolder::Settle(JobOptions& options) {
  const Json manifest = ReadManifest(PathFor(options.output) / "manifest.json");
  if (!manifest.is_object()) return;
  if (options.threads == 0 && manifest.contains("threads") &&
      manifest["threads"].is_number_integer())
    options.threads = manifest["threads"].get<int>();
  if (options.network.empty() && options.plan_file.empty() && manifest.contains("network") &&
      manifest["network"].is_string())
    options.kept_network = manifest["network"].get<std::string>();
}

bool JobFolder::WaitsComplete(const std::filesystem::path& output) {
  std::ifstream file(PathFor(output) / "journal");
  std::string line, last;
  while (std::getline(file, line)) last = line;
  return last == kComplete;
}

JobFolder::JobFolder(const Plan& plan, bool restart) : path_(PathFor(plan.output)) {
  std::error_code error;
  std::filesystem::remove_all(OverPath(path_), error);
  std::filesystem::create_directory(path_, error);
  if (error) throw Failure(kExitFailed, fmt::format("{}: {}", path_.string(), error.message()));
  lock_ = std::make_unique<FileLock>(path_ / "lock");
  const std::filesystem::path file = path_ / "manifest.json";
  const Json wanted = ManifestOf(plan);
  if (restart) std::filesystem::remove(path_ / "journal", error);
  if (!restart && std::filesystem::exists(file)) {
    const std::string difference = Difference(ReadManifest(file), wanted);
    if (!difference.empty())
      throw Failure(kExitUsage, fmt::format("{}: holds an unfinished job whose {}; the same "
                                            "command continues it, --restart discards it",
                                            path_.string(), difference));
    ReadJournal();
    return;
  }
  WriteWhole(file, wanted.dump(2) + "\n");
}

void JobFolder::ReadJournal() {
  std::ifstream file(path_ / "journal");
  std::string line;
  while (std::getline(file, line)) {
    const Json row = Json::parse(line, nullptr, false);
    if (row.is_discarded() || !row.is_object()) break;
    if (row.contains("complete")) {
      complete_ = true;
      break;
    }
    const Segment segment{.frames = row.value("frames", int64_t{0}),
                          .bytes = row.value("bytes", uint64_t{0}),
                          .hash = row.value("hash", uint64_t{0}),
                          .first_time = row.value("first_time", int64_t{0}),
                          .last_time = row.value("last_time", int64_t{0}),
                          .last_duration = row.value("last_duration", int64_t{0}),
                          .delay = row.value("delay", 0),
                          .network = row.value("network", ""),
                          .next = row.value("next", ""),
                          .rows_hash = row.value("rows_hash", uint64_t{0})};
    const auto path = SegmentPath(segments_.size());
    std::error_code error;
    if (std::filesystem::file_size(path, error) != segment.bytes || error ||
        HashFile(path) != segment.hash)
      break;
    if (segment.rows_hash != 0 && !IsWhole(RowsPath(segments_.size()), segment.rows_hash)) break;
    segments_.push_back(segment);
  }
  // What was not read would stand between the lines to come.
  std::string kept;
  for (const Segment& segment : segments_) kept += LineOf(segment) + "\n";
  if (complete_) kept += std::string(kComplete) + "\n";
  WriteWhole(path_ / "journal", kept);
}

int64_t JobFolder::frames() const {
  return std::accumulate(segments_.begin(), segments_.end(), int64_t{0},
                         [](int64_t sum, const Segment& one) { return sum + one.frames; });
}

std::filesystem::path JobFolder::SegmentPath(size_t index) const {
  return path_ / fmt::format("segment-{:05}.nut", index);
}

std::filesystem::path JobFolder::RowsPath(size_t index) const {
  return path_ / fmt::format("segment-{:05}.rows", index);
}

void JobFolder::AddSegment(const std::filesystem::path& file, Segment segment,
                           const std::optional<std::string>& rows) {
  const auto place = SegmentPath(segments_.size());
  if (rows) {
    WriteWhole(RowsPath(segments_.size()), *rows);
    segment.rows_hash = HashFile(RowsPath(segments_.size()));
  }
  MoveInPlace(file, place);
  segment.bytes = std::filesystem::file_size(place);
  segment.hash = HashFile(place);
  AppendLine(path_ / "journal", LineOf(segment));
  segments_.push_back(std::move(segment));
}

void JobFolder::NoteComplete() {
  AppendLine(path_ / "journal", std::string(kComplete));
  complete_ = true;
}

void JobFolder::Remove() { RetireAt(path_); }

}  // namespace fettle::enhance
