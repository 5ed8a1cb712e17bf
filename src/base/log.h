// The logging hook: the library never prints, it hands lines to the program that embeds it.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string_view>

namespace fettle {

enum class LogLevel { kError, kWarn, kInfo, kDebug };

using LogSink = std::function<void(LogLevel, std::string_view line)>;

/// Installs the process-wide sink and the most verbose level it wants. Thread-safe; the sink may be
/// called from any thread. Without a sink, lines are dropped.
void SetLogSink(LogSink sink, LogLevel level);

/// Hands one finished line to the sink.
void LogLine(LogLevel level, std::string_view line);
bool LogEnabled(LogLevel level);

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(level)) LogLine(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace fettle
