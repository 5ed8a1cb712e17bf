// fettle enhance: hands the line to the program fettle-enhance, which is installed beside this one
// where FFmpeg's libraries were at the build, or is on the PATH.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands/command.h"
#include "commands/hand_over.h"
#include "report/report.h"

namespace fettle::tools {

int HandOver(const char* program, int argc, char** argv) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = (self.parent_path() / program).string();
  std::vector<char*> words(argv + std::min(2, argc), argv + argc);
  // `fettle help enhance`
  std::string help = "--help";
  if (argc > 1 && std::string_view(argv[1]) == "help") words = {help.data()};
  words.insert(words.begin(), const_cast<char*>(beside.c_str()));
  words.push_back(nullptr);
  execv(beside.c_str(), words.data());
  // A wheel's program has none beside it, and may hide another that does.
  if (errno == ENOENT) execvp(program, words.data());
  if (errno == ENOENT)
    return Fail(
        Unsupported("{} is neither beside fettle nor on the PATH: it is built where FFmpeg's "
                    "libraries are (docs/enhance.md)",
                    program));
  return Fail(Error(StatusCode::kInternal, "{}: {}", beside, std::strerror(errno)));
}

void RegisterEnhance(CLI::App& app, Action& action) {
  CLI::App* sub =
      app.add_subcommand("enhance", "enlarge and clean videos and pictures (docs/enhance.md)");
  // Its options are the other program's: the line is handed over before it is parsed.
  sub->callback([&action] { action = [] { return static_cast<int>(kExitUsage); }; });
}

}  // namespace fettle::tools
