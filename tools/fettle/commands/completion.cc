// fettle completion: what makes a shell complete commands, options and their values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands/command.h"
#include "jobs/command_line.h"
#include "report/report.h"

namespace fettle::tools {
namespace {

/// The values that an option may have, where they are few: what CLI::IsMember made of its type.
std::vector<std::string> ValuesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

std::vector<const CLI::App*> Listed(const CLI::App& app) {
  return app.get_subcommands(
      [](const CLI::App* sub) { return !sub->get_name().empty() && !sub->get_group().empty(); });
}

/// What may follow one command: its subcommands and options, by the word before where that is an
/// option with few values.
struct Words {
  std::string after;                // "db list"
  std::vector<std::string> any;     // subcommands, then options
  std::vector<std::string> values;  // "--precision) words='high normal low' ;;"
};

Words WordsAfter(const CLI::App& command, const std::string& path) {
  Words words{.after = path, .any = {}, .values = {}};
  for (const CLI::App* sub : Listed(command)) words.any.push_back(sub->get_name());
  ForEachOption(command, [&](const CLI::Option& option) {
    const std::vector<std::string> names = NamesOf(option), values = ValuesOf(option);
    words.any.insert(words.any.end(), names.begin(), names.end());
    if (!names.empty() && !values.empty())
      words.values.push_back(
          fmt::format("{}) words='{}' ;;", fmt::join(names, "|"), fmt::join(values, " ")));
  });
  return words;
}

void AddWords(const CLI::App& command, const std::string& path, std::vector<Words>& all) {
  all.push_back(WordsAfter(command, path));
  for (const CLI::App* sub : Listed(command))
    AddWords(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), all);
}

/// A function for bash, which zsh takes by bashcompinit. Where no word fits, names of files do.
std::string Script(const CLI::App& app, const std::string& shell) {
  std::vector<Words> all;
  AddWords(app, "", all);
  std::string script = shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
  script += R"(_fettle() {
  local command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
)";
  for (const Words& one : all)
    if (!one.after.empty())
      script += fmt::format("      ' {}') command=' {}' ;;\n", one.after, one.after);
  script += "    esac\n  done\n  case \"$command\" in\n";
  for (const Words& one : all) {
    script += fmt::format("    '{}{}')\n      words='{}'\n", one.after.empty() ? "" : " ",
                          one.after, fmt::join(one.any, " "));
    if (!one.values.empty())
      script +=
          fmt::format("      case \"${{COMP_WORDS[COMP_CWORD-1]}}\" in\n        {}\n      esac\n",
                      fmt::join(one.values, "\n        "));
    script += "      ;;\n";
  }
  return script + R"(  esac
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _fettle fettle
)";
}

}  // namespace

void RegisterCompletion(CLI::App& app, Action& action) {
  struct Options {
    std::string shell;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* sub =
      app.add_subcommand("completion", "words for a shell to complete: eval \"$(...)\"");
  sub->add_option("SHELL", options->shell, "bash|zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  sub->add_flag("--json", options->json, "one JSON document on stdout")->envname("FETTLE_JSON");
  sub->callback([&app, &action, options] {
    action = [&app, options] {
      const std::string script = Script(app, options->shell);
      if (options->json) {
        PrintJson({{"shell", options->shell}, {"script", script}, {"warnings", Json::array()}});
      } else {
        fmt::print("{}", script);
      }
      return static_cast<int>(kExitOk);
    };
  });
}

}  // namespace fettle::tools
