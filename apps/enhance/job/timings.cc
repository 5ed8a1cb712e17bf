#include "job/timings.h"

#include <fettle/fettle.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "basics/failure.h"
#include "basics/files.h"

extern "C" {
#include <libavutil/cpu.h>
}

namespace fettle::enhance {
namespace {

using Json = nlohmann::ordered_json;

std::filesystem::path CacheFile() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0')
    return std::filesystem::path(cache) / "fettle" / "enhance.json";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::filesystem::path(home) / ".cache" / "fettle" / "enhance.json";
}

std::string Processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "processor";
}

void Keep(const std::filesystem::path& path, const Json& document) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  try {
    WriteWhole(path, document.dump(1) + "\n");
  } catch (const Failure&) {
    // It will be measured again.
  }
}

}  // namespace

double KeptOr(const std::string& what, const std::function<double()>& measure) {
  static std::mutex mutex;  // one measurement at a time, and one writer of the file
  const std::lock_guard lock(mutex);
  const std::filesystem::path path = CacheFile();
  const std::string key =
      fmt::format("{} {:x}, {}, {}", Processor(), av_get_cpu_flags(), fettle_version(), what);
  std::ifstream stream(path);
  Json document = stream ? Json::parse(stream, nullptr, false) : Json::object();
  if (!document.is_object()) document = Json::object();
  if (document.contains(key) && document[key].is_number()) return document[key].get<double>();
  document[key] = measure();
  if (!path.empty()) Keep(path, document);
  return document[key].get<double>();
}

}  // namespace fettle::enhance
