#include "remote/link.h"

#include <charconv>
#include <filesystem>
#include <optional>

#include "remote/process.h"

namespace fettle::tools {
namespace {

/// What tells the end of a command from the end of the link, whatever exit codes a transport has.
constexpr std::string_view kEnd = "fettle-end ";

Status Broken(const Target& target, const ProcessEnd& end) {
  if (end.cancelled) return Error(StatusCode::kCancelled, "{}: interrupted", target.text);
  return Error(StatusCode::kIo, "{}: {}", target.text,
               end.complaint.empty() ? "the link was closed" : end.complaint);
}

int64_t FileBytes(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? -1 : static_cast<int64_t>(bytes);
}

}  // namespace

Result<int> Link::RunWith(const std::string& command, const std::string& input,
                          const std::function<void(const std::string&)>& on_line) {
  std::optional<int> code;
  ProcessStreams streams{.input = input, .output = "", .on_line = {}, .cancel = cancel_};
  streams.on_line = [&](std::string line) {
    // Old adb ends lines as terminals do.
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with(kEnd)) {
      int value = 1;
      std::from_chars(line.data() + kEnd.size(), line.data() + line.size(), value);
      code = value;
    } else if (on_line) {
      on_line(line);
    }
  };
  ASSIGN_OR_RETURN(
      const ProcessEnd end,
      RunProcess(target_.transport->run(target_.address,
                                        fmt::format("( {} ); echo \"{}$?\"", command, kEnd)),
                 streams));
  if (!code) return Broken(target_, end);
  return *code;
}

Result<int> Link::Run(const std::string& command,
                      const std::function<void(const std::string&)>& on_line) {
  return RunWith(command, "", on_line);
}

Status Link::Push(const std::string& from, const std::string& to) {
  const std::string part = to + ".part";
  int code = 0;
  const std::string take = fmt::format("[ \"$(wc -c <{0} | tr -d ' ')\" = {2} ] && mv {0} {1}",
                                       ShellWord(part), ShellWord(to), FileBytes(from));
  if (target_.transport->push == nullptr) {
    ASSIGN_OR_RETURN(code,
                     RunWith(fmt::format("cat >{} && {}", ShellWord(part), take), from, nullptr));
  } else {
    ASSIGN_OR_RETURN(const ProcessEnd end,
                     RunProcess(target_.transport->push(target_.address, from, part),
                                {.input = "", .output = "", .on_line = {}, .cancel = cancel_}));
    if (end.exit_code != 0) return Broken(target_, end);
    ASSIGN_OR_RETURN(code, Run(take));
  }
  if (code == 0) return OkStatus();
  return Error(StatusCode::kDeviceError, "{}: {} cannot be written: is the disk full?",
               target_.text, to);
}

Status Link::Pull(const std::string& from, int64_t bytes, const std::string& to) {
  ProcessStreams streams{.input = "", .output = "", .on_line = {}, .cancel = cancel_};
  std::vector<std::string> command;
  if (target_.transport->pull == nullptr) {
    streams.output = to;
    command = target_.transport->run(target_.address, "cat " + ShellWord(from));
  } else {
    command = target_.transport->pull(target_.address, from, to);
  }
  ASSIGN_OR_RETURN(const ProcessEnd end, RunProcess(command, streams));
  if (end.exit_code != 0 || FileBytes(to) != bytes) return Broken(target_, end);
  return OkStatus();
}

}  // namespace fettle::tools
