#include "report/stop_key.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>

namespace fettle::enhance {
namespace {

termios terminal_before;
std::atomic<bool> terminal_changed = false;

/// Keys come at once and are not shown; Ctrl-C stays a signal.
bool TakeKeys() {
  if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp()) return false;
  if (tcgetattr(STDIN_FILENO, &terminal_before) != 0) return false;
  termios keys = terminal_before;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VMIN] = 0;
  keys.c_cc[VTIME] = 0;
  if (tcsetattr(STDIN_FILENO, TCSANOW, &keys) != 0) return false;
  terminal_changed = true;
  return true;
}

}  // namespace

StopKey::StopKey(std::stop_source stop) {
  if (!TakeKeys()) return;
  thread_ = std::jthread([stop](std::stop_token ended) mutable {
    pollfd keys{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    while (!ended.stop_requested()) {
      if (poll(&keys, 1, 100) <= 0) continue;
      char key = 0;
      if (read(STDIN_FILENO, &key, 1) <= 0) return;
      if (key == 'q' || key == 'Q') stop.request_stop();
    }
  });
}

StopKey::~StopKey() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  RestoreTerminal();
}

void StopKey::RestoreTerminal() {
  if (terminal_changed.exchange(false)) tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

}  // namespace fettle::enhance
