#include "tuner/store/owner.h"

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

/// Where process ids are comparable: this boot and this container; "" where nobody can tell.
std::string World() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  if (!std::getline(file, boot)) return "";
  std::array<char, 64> link;
  const ssize_t size = ::readlink("/proc/self/ns/pid", link.data(), link.size());
  const std::string_view names(link.data(), std::max<ssize_t>(size, 0));
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
  struct Named {
    int64_t pid = 0;
    std::string name;
  };
  thread_local Named process;
  const int64_t pid = ::getpid();  // another one after a fork
  if (process.pid != pid) process = {pid, fmt::format("{} {} {}", World(), pid, StartOf(pid))};
  return process.name;
}

bool IsGone(std::string_view owner, int64_t age_seconds) {
  const size_t world_end = std::min(owner.find(' '), owner.size());
  const std::string world = World();
  if (world.empty() || owner.substr(0, world_end) != world) return age_seconds > kForeignAgeSeconds;
  owner.remove_prefix(world_end);
  int64_t pid = 0;
  const size_t start_at = std::min(owner.rfind(' '), owner.size());
  if (start_at > 0) std::from_chars(owner.data() + 1, owner.data() + start_at, pid);
  const std::string start = StartOf(pid);
  return start.empty() || owner.substr(start_at) != " " + start;
}

}  // namespace fettle::tuner
