#include "sweep/sweep_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>
#include <vector>

#include "base/file.h"

namespace fettle::tools {
namespace {

constexpr std::string_view kHeader =
    "operator,type,cin,cout,size,kernel,stride,ms,spread,gflops,chosen,layout_in,layout_out,"
    "threads,precision,device";
constexpr size_t kColumns = 16, kFirstAxis = 2;

/// A field that is quoted where it has to be.
std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::vector<std::string> SplitFields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (line[i] == '"')
      is_quoted = !is_quoted;
    else if (line[i] == ',' && !is_quoted)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

template <typename T>
bool ReadField(const std::string& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Devices' fingerprints on one line.
std::string OneLineOf(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text;
}

std::string LineOf(const SweepSetting& setting, const SweepPoint& point, const SweepRow& row) {
  std::string line = fmt::format("{},{}", setting.op, setting.type);
  for (int64_t size : point) line += fmt::format(",{}", size);
  return line + fmt::format(",{:.6g},{:.4g},{:.6g},{},{},{},{},{},{}\n", row.ms, row.spread,
                            row.gflops, Quoted(row.kernel), Quoted(row.layout_in),
                            Quoted(row.layout_out), setting.threads, setting.precision,
                            Quoted(OneLineOf(setting.device)));
}

/// What a line says of the setting that is not so now; "" where nothing.
std::string Difference(const std::vector<std::string>& fields, const SweepSetting& setting) {
  const std::pair<std::string_view, std::pair<size_t, std::string>> said[] = {
      {"operator", {0, setting.op}},
      {"type", {1, setting.type}},
      {"threads", {13, std::to_string(setting.threads)}},
      {"precision", {14, setting.precision}},
      {"device", {15, OneLineOf(setting.device)}}};
  for (const auto& [name, place] : said)
    if (fields[place.first] != place.second)
      return fmt::format("{} {} (now {})", name, fields[place.first], place.second);
  return "";
}

}  // namespace

Status SweepFile::Read(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kHeader)
    return InvalidArgument("{}: is not a sweep of this version; name another file", path_);
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = SplitFields(line);
    SweepPoint point{};
    SweepRow row;
    bool is_sound = fields.size() == kColumns && ReadField(fields[7], row.ms) &&
                    ReadField(fields[8], row.spread) && ReadField(fields[9], row.gflops);
    for (size_t axis = 0; is_sound && axis < point.size(); ++axis)
      is_sound = ReadField(fields[kFirstAxis + axis], point[axis]);
    if (!is_sound) return InvalidArgument("{}: is not a sweep: '{}'", path_, line.substr(0, 60));
    const std::string difference = Difference(fields, setting_);
    if (!difference.empty())
      return InvalidArgument("{}: has a sweep of {}; name another file", path_, difference);
    row.kernel = fields[10], row.layout_in = fields[11], row.layout_out = fields[12];
    rows_.insert_or_assign(point, row);
  }
  return OkStatus();
}

Result<SweepFile> SweepFile::Open(const std::string& path, const SweepSetting& setting) {
  SweepFile opened;
  opened.path_ = path;
  opened.setting_ = setting;
  std::error_code error;
  std::string text;
  if (std::filesystem::is_regular_file(path, error)) {
    std::ifstream file(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
    // The rest is of a line that was being written.
    text.resize(text.find_last_of('\n') == std::string::npos ? 0 : text.find_last_of('\n') + 1);
  }
  if (text.empty()) text = std::string(kHeader) + "\n";
  RETURN_IF_ERROR(opened.Read(text));
  RETURN_IF_ERROR(WriteTextFile(path, text));
  opened.file_.reset(std::fopen(path.c_str(), "ab"));
  if (opened.file_ == nullptr)
    return Error(StatusCode::kIo, "{}: cannot write: {}", path, std::strerror(errno));
  std::fseek(opened.file_.get(), 0, SEEK_END);
  return opened;
}

Status SweepFile::Add(const SweepPoint& point, const SweepRow& row) {
  rows_.insert_or_assign(point, row);
  const std::string line = LineOf(setting_, point, row);
  const long whole = std::ftell(file_.get());
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
      std::fflush(file_.get()) == 0)
    return OkStatus();
  const Status failed = Error(StatusCode::kIo, "{}: cannot write: {}", path_, std::strerror(errno));
  std::ignore = ::ftruncate(::fileno(file_.get()), whole);
  return failed;
}

}  // namespace fettle::tools
