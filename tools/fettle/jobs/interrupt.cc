#include "jobs/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace fettle::tools {
namespace {

std::mutex cancel_mutex;
std::function<void()>& CurrentCancel() {
  static std::function<void()> cancel;
  return cancel;
}
std::atomic<bool> interrupted = false;

void WaitForSignals(sigset_t signals) {
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) return;
    const std::lock_guard lock(cancel_mutex);
    if (interrupted.exchange(true) || CurrentCancel() == nullptr) _exit(128 + signal);
    CurrentCancel()();
  }
}

}  // namespace

void StartInterruptThread() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(WaitForSignals, signals).detach();
}

InterruptScope::InterruptScope(std::function<void()> cancel) {
  const std::lock_guard lock(cancel_mutex);
  CurrentCancel() = std::move(cancel);
}

InterruptScope::~InterruptScope() {
  const std::lock_guard lock(cancel_mutex);
  CurrentCancel() = nullptr;
}

const std::atomic<bool>& InterruptScope::Flag() { return interrupted; }

}  // namespace fettle::tools
