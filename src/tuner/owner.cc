#include "tuner/owner.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <vector>

namespace fettle::tuner {
namespace {

constexpr int64_t kForeignAgeSeconds = 3600;

/// Where process ids are comparable: this boot and this container.
std::string World() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot = "unknown";
  std::getline(file, boot);
  std::array<char, 64> link;
  const ssize_t size = ::readlink("/proc/self/ns/pid", link.data(), link.size());
  const std::string_view names(link.data(), size > 0 ? static_cast<size_t>(size) : 0);
  return fmt::format("{}-{}", boot, names);
}

/// Clock ticks from boot to the start of a process (proc(5), field 22 of stat); "" where there is
/// none or it has ended and only waits for its parent.
std::string StartOf(int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t name_end = text.rfind(')');  // the name in field 2 may hold anything
  if (name_end == std::string::npos) return "";
  std::vector<std::string_view> fields;  // from field 3 on
  std::string_view rest = std::string_view(text).substr(name_end + 1);
  while (!rest.empty()) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
    const size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    if (end > 0) fields.push_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return "";
  return std::string(fields[19]);
}

}  // namespace

std::string ThisProcess() {
  const int64_t pid = ::getpid();
  return fmt::format("{} {} {}", World(), pid, StartOf(pid));
}

bool IsGone(std::string_view owner, int64_t age_seconds) {
  const size_t world_end = owner.find(' ');
  if (world_end == std::string_view::npos || owner.substr(0, world_end) != World())
    return age_seconds > kForeignAgeSeconds;
  const std::string_view process = owner.substr(world_end + 1);
  const size_t pid_end = std::min(process.find(' '), process.size());
  int64_t pid = 0;
  std::from_chars(process.data(), process.data() + pid_end, pid);
  return StartOf(pid) != process.substr(std::min(pid_end + 1, process.size()));
}

}  // namespace fettle::tuner
