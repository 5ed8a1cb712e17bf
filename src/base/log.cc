#include "base/log.h"

#include <atomic>
#include <mutex>

namespace fettle {
namespace {
std::mutex& SinkMutex() {
  static std::mutex mutex;
  return mutex;
}
LogSink& Sink() {
  static LogSink sink;
  return sink;
}
std::atomic<int> max_level{-1};
}  // namespace

void SetLogSink(LogSink sink, LogLevel level) {
  std::lock_guard lock(SinkMutex());
  max_level = sink ? static_cast<int>(level) : -1;
  Sink() = std::move(sink);
}

bool LogEnabled(LogLevel level) {
  return static_cast<int>(level) <= max_level.load(std::memory_order_relaxed);
}

void LogLine(LogLevel level, std::string_view line) {
  std::lock_guard lock(SinkMutex());
  if (Sink()) Sink()(level, line);
}

}  // namespace fettle
