#include "remote/link.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <span>

#include "base/file.h"

namespace fettle::tools {
namespace {

/// What tells the end of a command from the end of the link, whatever exit codes a transport has.
constexpr std::string_view kEnd = "fettle-end ";

int64_t FileBytes(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? -1 : static_cast<int64_t>(bytes);
}

}  // namespace

Link::~Link() { Unshare(); }

void Link::Share() {
  if (target_.transport->share == nullptr || free_socket_.empty() || !target_.socket.empty())
    return;
  target_.socket = free_socket_;
  const auto end = Perform(target_.transport->share(target_), {});
  if (end.ok() && end->exit_code == 0) return;
  // No such option, or no answer, of which the next command tells.
  target_.socket.clear();
  free_socket_.clear();
}

void Link::Unshare() {
  if (target_.socket.empty()) return;
  (void)RunProcess(target_.transport->unshare(target_), {});  // it may have ended with the link
  target_.socket.clear();
}

Status Link::Broken(const ProcessEnd& end) {
  if (end.cancelled) return Error(StatusCode::kCancelled, "{}: interrupted", target_.text);
  Unshare();
  return Error(StatusCode::kIo, "{}: {}", target_.text,
               end.complaint.empty() ? "the link was closed" : end.complaint);
}

Result<ProcessEnd> Link::Perform(const Words& words, ProcessStreams streams) {
  streams.cancel = cancel_;
  return RunProcess(words, streams);
}

Result<int> Link::RunWith(const std::string& command, const std::string& input,
                          const std::function<void(const std::string&)>& on_line) {
  std::optional<int> code;
  Share();
  ProcessStreams streams;
  streams.input = input;
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
  const std::string line = fmt::format("( {} ); echo \"{}$?\"", command, kEnd);
  ASSIGN_OR_RETURN(const ProcessEnd end, Perform(target_.transport->run(target_, line), streams));
  if (!code) return Broken(end);
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
                     Perform(target_.transport->push(target_, from, part), {}));
    if (end.exit_code != 0) return Broken(end);
    ASSIGN_OR_RETURN(code, Run(take));
  }
  if (code == 0) return OkStatus();
  return Error(StatusCode::kDeviceError, "{}: {} cannot be written: is the disk full?",
               target_.text, to);
}

/// All by one command, into one file that is cut then.
Status Link::PullByStream(const std::vector<RemoteFile>& files) {
  Share();
  std::string command = "cat";
  for (const RemoteFile& file : files) command += " " + ShellWord(file.from);
  const std::string all = files.front().to + ".all";
  ProcessStreams streams;
  streams.output = all;
  ASSIGN_OR_RETURN(const ProcessEnd end,
                   Perform(target_.transport->run(target_, command), streams));
  int64_t wanted = 0;
  for (const RemoteFile& file : files) wanted += file.bytes;
  if (end.exit_code != 0 || FileBytes(all) != wanted) return Broken(end);
  ASSIGN_OR_RETURN(const auto whole, MappedFile::Open(all));
  std::span<const std::byte> rest = whole->bytes();
  for (const RemoteFile& file : files) {
    const Status kept = WriteFile(file.to, rest.first(static_cast<size_t>(file.bytes)));
    // Not kIo: another try would end the same way.
    if (!kept.ok()) return Error(StatusCode::kInternal, "{}", kept.message());
    rest = rest.subspan(static_cast<size_t>(file.bytes));
  }
  std::filesystem::remove(all);
  return OkStatus();
}

Status Link::Pull(const std::vector<RemoteFile>& files) {
  if (files.empty()) return OkStatus();
  if (target_.transport->pull == nullptr) return PullByStream(files);
  for (const RemoteFile& file : files) {
    ASSIGN_OR_RETURN(const ProcessEnd end,
                     Perform(target_.transport->pull(target_, file.from, file.to), {}));
    if (end.exit_code != 0 || FileBytes(file.to) != file.bytes) return Broken(end);
  }
  return OkStatus();
}

}  // namespace fettle::tools
