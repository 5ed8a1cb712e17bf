#include "remote/link.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/file.h"
#include "remote/process.h"

namespace fettle::tools {
namespace {

int64_t FileBytes(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? -1 : static_cast<int64_t>(bytes);
}

Status Broken(const Target& target, const ProcessEnd& end) {
  if (end.cancelled) return Error(StatusCode::kCancelled, "{}: interrupted", target.text);
  return Error(StatusCode::kIo, "{}: {}", target.text,
               end.complaint.empty() ? "the link was closed" : end.complaint);
}

/// What `to` is before it is whole: a link that was given up may still be writing its own.
std::string PartOf(const std::string& to) { return fmt::format("{}.{}.part", to, NowNs()); }

/// Cuts what comes into files.
class FileCutter {
 public:
  explicit FileCutter(const std::vector<RemoteFile>& files) : files_(files) { Begin(); }

  void Take(std::span<const std::byte> bytes) {
    while (!bytes.empty() && !done()) {
      const auto count = std::min(static_cast<int64_t>(bytes.size()), left_);
      file_.write(reinterpret_cast<const char*>(bytes.data()), count);
      left_ -= count;
      bytes = bytes.subspan(static_cast<size_t>(count));
      if (left_ > 0) continue;
      End();
      Begin();
    }
  }
  bool done() const { return at_ == files_.size(); }
  /// The first file that could not be written; empty where all were.
  const std::string& unwritten() const { return unwritten_; }

 private:
  /// The next file that is not empty.
  void Begin() {
    while (!done()) {
      file_.open(files_[at_].to, std::ios::binary | std::ios::trunc);
      left_ = files_[at_].bytes;
      if (left_ > 0) return;
      End();
    }
  }
  void End() {
    file_.close();
    if (!file_ && unwritten_.empty()) unwritten_ = files_[at_].to;
    file_.clear();
    ++at_;
  }

  const std::vector<RemoteFile>& files_;
  size_t at_ = 0;
  int64_t left_ = 0;
  std::ofstream file_;
  std::string unwritten_;
};

}  // namespace

Result<int> Link::Ask(const Question& question) {
  if (conversation_ == nullptr) {
    ASSIGN_OR_RETURN(conversation_,
                     Conversation::Start(target_.transport->run(target_, kListeningShell)));
  }
  const auto code = conversation_->Ask(question, cancel_);
  if (!code.ok() || *code == kReadingFailed) conversation_ = nullptr;
  if (!code.ok())
    return Error(code.status().code(), "{}: {}", target_.text, code.status().message());
  return *code;
}

Result<int> Link::RunAlone(const std::string& command,
                           const std::function<void(const std::string&)>& on_line) {
  std::optional<int> code;
  ProcessStreams streams{.cancel = cancel_};
  streams.on_line = [&](std::string line) {
    // Old adb ends lines as terminals do.
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with(kEndMark)) {
      int value = 1;
      std::from_chars(line.data() + kEndMark.size(), line.data() + line.size(), value);
      code = value;
    } else if (on_line) {
      on_line(line);
    }
  };
  const std::string line = fmt::format("( {} ); echo \"{}$?\"", command, kEndMark);
  ASSIGN_OR_RETURN(const ProcessEnd end,
                   RunProcess(target_.transport->run(target_, line), streams));
  // The mark tells the end of a command from that of the link, whatever codes a transport has.
  if (!code) return Broken(target_, end);
  return *code;
}

Result<int> Link::Run(const std::string& command,
                      const std::function<void(const std::string&)>& on_line) {
  return listens() ? Ask({.command = command, .on_line = on_line}) : RunAlone(command, on_line);
}

Status Link::Perform(const Words& words) {
  ASSIGN_OR_RETURN(const ProcessEnd end, RunProcess(words, {.cancel = cancel_}));
  return end.exit_code == 0 ? OkStatus() : Broken(target_, end);
}

Status Link::Send(const std::string& from, const Receipt& receipt) {
  int code = 0;
  if (listens()) {
    const auto opened = MappedFile::Open(from);
    // Not kIo: another try would end the same way.
    if (!opened.ok()) return Error(StatusCode::kInternal, "{}", opened.status().message());
    const MappedFile* file = opened->get();
    ASSIGN_OR_RETURN(
        code, Ask({.command = fmt::format("{{ head -c {} | {{ {}; }}; }} || exit {}",
                                          file->bytes().size(), receipt.of_stream, kReadingFailed),
                   .input = file->bytes()}));
  } else {
    RETURN_IF_ERROR(Perform(target_.transport->push(target_, from, receipt.part)));
    ASSIGN_OR_RETURN(code, RunAlone(receipt.of_part, nullptr));
  }
  if (code == 0) return OkStatus();
  return Error(StatusCode::kDeviceError, "{}: {} cannot be written: is the disk full?",
               target_.text, receipt.part);
}

Status Link::Push(const std::string& from, const std::string& to) {
  const std::string part = PartOf(to);
  const std::string take = fmt::format("[ \"$(wc -c <{0} | tr -d ' ')\" = {2} ] && mv {0} {1}",
                                       ShellWord(part), ShellWord(to), FileBytes(from));
  return Send(from, {part, take, fmt::format("cat >{} && {}", ShellWord(part), take)});
}

Status Link::Unpack(const std::string& from, const std::string& to) {
  const std::string part = PartOf(to), archive = ShellWord(part);
  const std::string folder = ShellWord(part + ".new");
  // A folder that is there came whole from the link before; nothing is moved into it.
  const auto unpack = [&](const std::string& input) {
    return fmt::format(
        "mkdir {0} && (cd {0} && tar xf {1}) && {{ if [ -d {2} ]; then rm -rf {0}; else mv {0} "
        "{2}; "
        "fi; }}",
        folder, input, ShellWord(to));
  };
  return Send(from, {part, fmt::format("{} && rm {}", unpack(archive), archive), unpack("-")});
}

Status Link::PullByStream(const std::vector<RemoteFile>& files) {
  int64_t bytes = 0;
  std::string names;
  for (const RemoteFile& file : files) {
    bytes += file.bytes;
    names += " " + ShellWord(file.from);
  }
  FileCutter cutter(files);
  ASSIGN_OR_RETURN(
      const int code,
      Ask({.command = fmt::format(
               "[ \"$(cat{0} | wc -c)\" -eq {1} ] && echo \"fettle-bytes {1}\" && cat{0}", names,
               bytes),
           .on_bytes = [&](std::span<const std::byte> some) { cutter.Take(some); }}));
  if (code != 0 || !cutter.done())
    return Error(StatusCode::kDeviceError, "{}: the results have changed", target_.text);
  // Not kIo: another try would end the same way.
  if (!cutter.unwritten().empty())
    return Error(StatusCode::kInternal, "{}: cannot be written", cutter.unwritten());
  return OkStatus();
}

Status Link::Pull(const std::vector<RemoteFile>& files) {
  if (files.empty()) return OkStatus();
  if (listens()) return PullByStream(files);
  for (const RemoteFile& file : files) {
    RETURN_IF_ERROR(Perform(target_.transport->pull(target_, file.from, file.to)));
    if (FileBytes(file.to) != file.bytes)
      return Error(StatusCode::kIo, "{}: the link was closed", target_.text);
  }
  return OkStatus();
}

}  // namespace fettle::tools
