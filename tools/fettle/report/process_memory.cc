#include "report/process_memory.h"

#include <fstream>
#include <sstream>
#include <string>

namespace fettle::tools {
namespace {

int64_t ReadField(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    std::istringstream fields(line.substr(name.size() + 1));
    int64_t kilobytes = 0;
    fields >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

int64_t ResidentBytes() { return ReadField("VmRSS"); }
int64_t PeakResidentBytes() { return ReadField("VmHWM"); }
void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace fettle::tools
