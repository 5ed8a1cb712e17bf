#include "remote/conversation.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

namespace fettle::tools {
namespace {

/// How long a program that ends may take to say why.
constexpr int kLastWordsMilliseconds = 1000;
constexpr int kStreamBytes = 1 << 21;
constexpr std::string_view kBytesMark = "fettle-bytes ";

/// What goes to the target, as much at a time as it takes.
class Sender {
 public:
  Sender(int fd, std::string_view command, std::span<const std::byte> input)
      : fd_(fd), parts_{std::as_bytes(std::span(command)), input} {}

  bool done() const { return parts_[0].empty() && parts_[1].empty(); }
  void Send() {
    while (!done()) {
      std::span<const std::byte>& part = parts_[parts_[0].empty() ? 1 : 0];
      const ssize_t sent = ::send(fd_, part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
      // Nobody reads any more; what comes back says why.
      if (sent < 0)
        parts_ = {};
      else
        part = part.subspan(static_cast<size_t>(sent));
    }
  }

 private:
  int fd_;
  std::array<std::span<const std::byte>, 2> parts_;
};

int64_t NumberAfter(const std::string& line, std::string_view mark) {
  int64_t value = -1;
  std::from_chars(line.data() + mark.size(), line.data() + line.size(), value);
  return value;
}

/// What comes back: lines, and between them bytes that a line announces.
class Answer {
 public:
  Answer(int fd, const Question& question) : fd_(fd), question_(question) {}

  std::optional<int> code() const { return code_; }
  /// Whether more may come. Waits where nothing is there.
  bool Read() {
    std::array<std::byte, 1 << 18> buffer;
    const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
    if (got <= 0) return got < 0 && errno == EINTR;
    std::span<const std::byte> rest(buffer.data(), static_cast<size_t>(got));
    while (!rest.empty() && !code_) rest = announced_ > 0 ? TakeBytes(rest) : TakeLine(rest);
    return true;
  }

 private:
  std::span<const std::byte> TakeBytes(std::span<const std::byte> rest) {
    const size_t count = std::min(rest.size(), static_cast<size_t>(announced_));
    announced_ -= static_cast<int64_t>(count);
    if (question_.on_bytes) question_.on_bytes(rest.first(count));
    return rest.subspan(count);
  }

  std::span<const std::byte> TakeLine(std::span<const std::byte> rest) {
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
    const size_t end = text.find('\n');
    line_ += text.substr(0, end);
    if (end == std::string_view::npos) return {};
    if (line_.starts_with(kEndMark))
      code_ = static_cast<int>(NumberAfter(line_, kEndMark));
    else if (line_.starts_with(kBytesMark))
      announced_ = NumberAfter(line_, kBytesMark);
    else if (question_.on_line)
      question_.on_line(line_);
    line_.clear();
    return rest.subspan(end + 1);
  }

  int fd_;
  const Question& question_;
  std::string line_;
  int64_t announced_ = 0;
  std::optional<int> code_;
};

}  // namespace

// In one line, and without what login shells that are no POSIX shells read in single quotes. A
// command ends with a line "fettle-go".
const char* const kListeningShell =
    "command=; nl=$(printf \"\\nx\"); nl=${nl%x}; while IFS= read -r line; do case $line in "
    "fettle-go) ( eval \"$command\" ); code=$?; command=; echo \"fettle-end $code\"; "
    "[ $code -ne 97 ] || exit 1;; *) command=$command$line$nl;; esac; done";

Result<std::unique_ptr<Conversation>> Conversation::Start(const std::vector<std::string>& words) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return Error(StatusCode::kInternal, "cannot create a socket");
  OpenFile here(sockets[0]);
  const OpenFile there(sockets[1]);
  // Files go through, and each time that it is full both processes wait; the system may allow less.
  for (const int end : sockets)
    (void)::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kStreamBytes, sizeof(kStreamBytes));
  ASSIGN_OR_RETURN(PipeEnds err, MakePipe());
  ASSIGN_OR_RETURN(const pid_t pid, StartProcess(words, there.fd(), there.fd(), err.write.fd()));
  return std::unique_ptr<Conversation>(new Conversation(pid, std::move(here), std::move(err.read)));
}

Conversation::Conversation(pid_t pid, OpenFile stream, OpenFile err)
    : pid_(pid),
      stream_(std::move(stream)),
      err_(std::move(err)),
      complaints_(err_.fd(), [this](const std::string& line) {
        if (SaysSomething(line)) complaint_ = line;
      }) {}

Conversation::~Conversation() {
  ::kill(-pid_, SIGKILL);
  WaitForProcess(pid_);
}

Status Conversation::Broken() {
  pollfd more = {complaints_.fd(), POLLIN, 0};
  while (complaints_.open() && ::poll(&more, 1, kLastWordsMilliseconds) > 0) complaints_.Read();
  return Error(StatusCode::kIo, "{}", complaint_.empty() ? "the link was closed" : complaint_);
}

Result<int> Conversation::Ask(const Question& question, const std::atomic<bool>* cancel) {
  const std::string command = question.command + "\nfettle-go\n";
  Sender sender(stream_.fd(), command, question.input);
  Answer answer(stream_.fd(), question);
  while (!answer.code()) {
    if (cancel != nullptr && *cancel) return Error(StatusCode::kCancelled, "interrupted");
    const short wanted = sender.done() ? POLLIN : POLLIN | POLLOUT;
    std::array<pollfd, 2> wait = {{{stream_.fd(), wanted, 0}, {complaints_.fd(), POLLIN, 0}}};
    if (::poll(wait.data(), wait.size(), kPollMilliseconds) <= 0) continue;
    if ((wait[0].revents & POLLOUT) != 0) sender.Send();
    if ((wait[0].revents & ~POLLOUT) != 0 && !answer.Read()) return Broken();
    if (wait[1].revents != 0) complaints_.Read();
  }
  return *answer.code();
}

}  // namespace fettle::tools
