#include "jobs/worker_pool.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace fettle::tools {
namespace {

constexpr uint64_t kMostAnswerBytes = 1 << 20;

/// One child: items go down one pipe, texts with a length in front come back on the other.
struct Worker {
  pid_t pid = -1;
  int to_child = -1, from_child = -1;
  size_t item = 0;
  int64_t started_ns = 0;
  bool busy = false;
};

bool ReadAll(int fd, void* out, size_t size) {
  auto* at = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t got = read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool WriteAll(int fd, const void* from, size_t size) {
  const auto* at = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t put = write(fd, at, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    size -= static_cast<size_t>(put);
  }
  return true;
}

[[noreturn]] void ChildLoop(int in, int out, const std::function<std::string(size_t)>& work) {
  uint64_t item = 0;
  while (ReadAll(in, &item, sizeof(item))) {
    const std::string text = work(item);
    const uint64_t length = text.size();
    if (!WriteAll(out, &length, sizeof(length)) || !WriteAll(out, text.data(), text.size())) break;
  }
  // Not exit(): the parent's buffers and handlers are not the child's to run.
  _exit(0);
}

Worker Start(const WorkerPool& pool, const std::vector<Worker>& others) {
  int down[2], up[2];
  Worker worker;
  if (pipe(down) != 0) return worker;
  if (pipe(up) != 0) {
    close(down[0]);
    close(down[1]);
    return worker;
  }
  fflush(nullptr);
  worker.pid = fork();
  if (worker.pid == 0) {
    for (const Worker& other : others) {
      if (other.pid <= 0) continue;
      close(other.to_child);
      close(other.from_child);
    }
    close(down[1]);
    close(up[0]);
    ChildLoop(down[0], up[1], pool.work);
  }
  close(down[0]);
  close(up[1]);
  worker.to_child = down[1];
  worker.from_child = up[0];
  return worker;
}

/// Ends the child and says how it ended.
std::string Stop(Worker& worker, bool kill_it) {
  if (worker.pid <= 0) return "could not start a process";
  if (kill_it) kill(worker.pid, SIGKILL);
  close(worker.to_child);
  close(worker.from_child);
  int status = 0;
  while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
  }
  worker = Worker();
  if (WIFSIGNALED(status)) return fmt::format("crashed: {}", strsignal(WTERMSIG(status)));
  return fmt::format("the process ended with code {}", WEXITSTATUS(status));
}

/// Nothing where the process has ended.
std::optional<std::string> ReadAnswer(const Worker& worker) {
  uint64_t length = 0;
  if (!ReadAll(worker.from_child, &length, sizeof(length)) || length >= kMostAnswerBytes)
    return std::nullopt;
  std::string text(length, '\0');
  if (!ReadAll(worker.from_child, text.data(), length)) return std::nullopt;
  return text;
}

/// False where the child is not there to take it.
bool Give(Worker& worker, size_t item) {
  worker.item = item;
  worker.started_ns = NowNs();
  const uint64_t number = item;
  worker.busy = worker.pid > 0 && WriteAll(worker.to_child, &number, sizeof(number));
  return worker.busy;
}

/// What became of a busy worker's item; nothing while it works. `is_heard`: its pipe has something,
/// or was closed.
std::optional<std::string> TakeResult(const WorkerPool& pool, Worker& worker, bool is_heard) {
  if (is_heard) {
    worker.busy = false;
    std::optional<std::string> answer = ReadAnswer(worker);
    return answer ? answer : pool.crashed(Stop(worker, false));
  }
  if (static_cast<double>(NowNs() - worker.started_ns) * 1e-9 <= pool.limit_seconds)
    return std::nullopt;
  Stop(worker, true);
  return pool.crashed(fmt::format("took over {:.0f} s", pool.limit_seconds));
}

}  // namespace

void WorkerPool::Run(size_t count) const {
  signal(SIGPIPE, SIG_IGN);
  std::vector<Worker> all(static_cast<size_t>(std::max(1, workers)));
  size_t next = 0, finished = 0;
  const auto finish = [&](size_t item, const std::string& text) {
    ++finished;
    done(item, text);
  };
  while (finished < count && !stop()) {
    std::vector<pollfd> wait;
    for (Worker& worker : all) {
      if (!worker.busy && next < count) {
        if (worker.pid <= 0) worker = Start(*this, all);
        const size_t item = next++;
        if (!Give(worker, item)) finish(item, crashed(Stop(worker, true)));
      }
      wait.push_back({worker.busy ? worker.from_child : -1, POLLIN, 0});
    }
    poll(wait.data(), wait.size(), 200);
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].busy) continue;
      const size_t item = all[i].item;
      const bool is_heard = (wait[i].revents & (POLLIN | POLLHUP)) != 0;
      if (const auto text = TakeResult(*this, all[i], is_heard)) finish(item, *text);
    }
  }
  for (Worker& worker : all)
    if (worker.pid > 0) Stop(worker, worker.busy);
}

}  // namespace fettle::tools
