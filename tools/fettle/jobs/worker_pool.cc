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

}  // namespace

void WorkerPool::Run(size_t count) const {
  signal(SIGPIPE, SIG_IGN);
  std::vector<Worker> all(static_cast<size_t>(std::max(1, workers)));
  size_t next = 0, finished = 0;
  const auto finish = [&](Worker& worker, const std::string& text) {
    worker.busy = false;
    ++finished;
    done(worker.item, text);
  };
  while (finished < count && !stop()) {
    std::vector<pollfd> wait;
    for (Worker& worker : all) {
      if (!worker.busy && next < count) {
        if (worker.pid <= 0) worker = Start(*this, all);
        worker.item = next++;
        worker.started_ns = NowNs();
        worker.busy = true;
        const uint64_t item = worker.item;
        if (worker.pid <= 0 || !WriteAll(worker.to_child, &item, sizeof(item)))
          finish(worker, crashed(Stop(worker, true)));
      }
      wait.push_back({worker.busy ? worker.from_child : -1, POLLIN, 0});
    }
    poll(wait.data(), wait.size(), 200);
    for (size_t i = 0; i < all.size(); ++i) {
      Worker& worker = all[i];
      if (!worker.busy) continue;
      const size_t item = worker.item;
      if ((wait[i].revents & (POLLIN | POLLHUP)) != 0) {
        const std::optional<std::string> answer = ReadAnswer(worker);
        const std::string text = answer ? *answer : crashed(Stop(worker, false));
        worker.item = item;
        finish(worker, text);
      } else if (static_cast<double>(NowNs() - worker.started_ns) * 1e-9 > limit_seconds) {
        Stop(worker, true);
        worker.item = item;
        finish(worker, crashed(fmt::format("took over {:.0f} s", limit_seconds)));
      }
    }
  }
  for (Worker& worker : all)
    if (worker.pid > 0) Stop(worker, worker.busy);
}

}  // namespace fettle::tools
