#include "job/folder_record.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "basics/files.h"
#include "job/plan.h"

namespace fettle::enhance {
namespace {

using Json = nlohmann::ordered_json;

/// What decides what is made, but for threads.
std::string CommandOf(const JobOptions& options) {
  const Json command = {options.steps,       options.network, options.budget,
                        options.fps,         options.paced,   options.encoder,
                        options.crf,         options.preset,  options.dither,
                        options.alert_votes, options.strict,  options.alert_score.value_or(-1),
                        options.preview};
  return command.dump();
}

}  // namespace

FolderRecord::FolderRecord(const std::filesystem::path& folder, const JobOptions& options)
    : folder_(folder), command_(CommandOf(options)) {
  std::ifstream file(folder_ / kName);
  for (std::string text; std::getline(file, text);) {
    const Json row = Json::parse(text, nullptr, false);
    // A line that was cut off by a kill is no object.
    if (!row.is_object() || row.value("command", "") != command_) continue;
    if (row.contains("end"))
      for (Line& line : lines_) line.ended = true;
    else
      lines_.push_back({row.value("output", ""), row.value("source", ""), row.value("result", ""),
                        row.value("damaged", int64_t{0})});
  }
}

std::string FolderRecord::NameOf(const std::filesystem::path& output) const {
  return output.lexically_relative(folder_).string();
}

std::optional<int64_t> FolderRecord::Finished(const std::filesystem::path& input,
                                              const std::filesystem::path& output,
                                              bool overwrite) const {
  std::error_code error;
  if (!std::filesystem::is_regular_file(output, error)) return std::nullopt;
  const std::string name = NameOf(output), source = FingerprintOf(input),
                    result = FingerprintOf(output);
  // The newest line speaks.
  const auto line = std::find_if(lines_.rbegin(), lines_.rend(), [&](const Line& each) {
    return each.output == name && each.source == source && each.result == result &&
           !(overwrite && each.ended);
  });
  if (line == lines_.rend()) return std::nullopt;
  return line->damaged;
}

bool FolderRecord::Began(const std::filesystem::path& output) const {
  return std::ranges::find(lines_, NameOf(output), &Line::output) != lines_.end();
}

void FolderRecord::Note(const std::filesystem::path& input, const std::filesystem::path& output,
                        const std::filesystem::path& file, int64_t damaged) {
  const Json line = {{"output", NameOf(output)},
                     {"source", FingerprintOf(input)},
                     {"result", FingerprintOf(file)},
                     {"damaged", damaged},
                     {"command", command_}};
  const std::lock_guard lock(writing_);
  // A line that a kill cut off must not take this one with it.
  AppendLine(folder_ / kName, "\n" + line.dump());
}

void FolderRecord::NoteEnd() {
  const Json line = {{"end", true}, {"command", command_}};
  AppendLine(folder_ / kName, "\n" + line.dump());
}

}  // namespace fettle::enhance
