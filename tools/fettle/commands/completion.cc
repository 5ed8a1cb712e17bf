// fettle completion: what makes a shell complete commands, options and their values; and fettle
// manual, which packages make their pages with.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "commands/command.h"
#include "jobs/command_line.h"
#include "manual/manual_page.h"
#include "options/checks.h"
#include "report/report.h"

namespace fettle::tools {
namespace {

/// The values that an option may have, where they are few: what OneOf made of its type.
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

/// What zsh needs beside the function for bash: it may be evaluated, or lie as `_fettle` in a
/// folder of completions, where its first call must complete, too.
constexpr std::string_view kZshBegin =
    "#compdef fettle\nautoload -U +X bashcompinit && bashcompinit\n";
constexpr std::string_view kZshEnd =
    "[[ ${funcstack[1]:-} != _fettle ]] || _bash_complete -o default -F _fettle_words\n";

/// A function for bash, which zsh takes by bashcompinit. Where no word fits, names of files do.
std::string Script(const CLI::App& app, const std::string& shell) {
  std::vector<Words> all;
  AddWords(app, "", all);
  const bool is_zsh = shell == "zsh";
  std::string script(is_zsh ? kZshBegin : "");
  script += R"(_fettle_words() {
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
  script += R"(  esac
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _fettle_words fettle
)";
  return script.append(is_zsh ? kZshEnd : "");
}

/// `text` in the quotes of fish.
std::string FishWord(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') word += '\\';
    word += c;
  }
  return word + "'";
}

/// fish shows descriptions beside words. A command of commands (`db`) has its words after both.
std::string FishScript(const CLI::App& app, const std::string& path = "") {
  std::string condition = path.empty() ? "__fish_use_subcommand" : "";
  for (const std::string& word : CLI::detail::split(path, ' '))
    if (!word.empty())
      condition +=
          fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ", word);
  std::string script;
  for (const CLI::App* sub : Listed(app))
    script += fmt::format("complete -c fettle -n '{}' -f -a {} -d {}\n", condition, sub->get_name(),
                          FishWord(sub->get_description()));
  ForEachOption(app, [&](const CLI::Option& option) {
    std::string line = fmt::format("complete -c fettle -n '{}'", condition);
    for (const std::string& name : option.get_lnames()) line += " -l " + name;
    for (const std::string& name : option.get_snames()) line += " -s " + name;
    if (option.get_positional() || NamesOf(option).empty()) return;
    const std::vector<std::string> values = ValuesOf(option);
    if (option.get_items_expected_max() > 0) line += values.empty() ? " -r" : " -x";
    if (!values.empty()) line += fmt::format(" -a '{}'", fmt::join(values, " "));
    script += fmt::format("{} -d {}\n", line, FishWord(option.get_description()));
  });
  for (const CLI::App* sub : Listed(app))
    script += FishScript(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name());
  return script;
}

/// Writes all manual pages into a folder.
Status WriteManual(const CLI::App& app, const std::string& folder) {
  for (const std::string& name : ManualPages(app)) {
    const bool is_program = name == app.get_name();
    const CLI::App& command =
        is_program ? app : *app.get_subcommand(name.substr(app.get_name().size() + 1));
    RETURN_IF_ERROR(WriteTextFile(fmt::format("{}/{}.1", folder, name), ManualPage(app, command)));
  }
  return OkStatus();
}

}  // namespace

void RegisterCompletion(CLI::App& app, Action& action) {
  struct Options {
    std::string shell;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("completion", "print the completion script of a shell");
  sub->add_option("SHELL", options->shell, "the shell to write the script for")
      ->required()
      ->check(OneOf({"bash", "zsh", "fish"}));
  sub->add_flag("--json", options->json, "print one JSON document instead of tables")
      ->envname("FETTLE_JSON");
  sub->callback([&app, &action, options] {
    action = [&app, options] {
      const std::string script =
          options->shell == "fish" ? FishScript(app) : Script(app, options->shell);
      if (options->json) {
        PrintJson({{"shell", options->shell}, {"script", script}, {"warnings", Json::array()}});
      } else {
        fmt::print("{}", script);
      }
      return static_cast<int>(kExitOk);
    };
  });
}

void RegisterManual(CLI::App& app, Action& action) {
  auto folder = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("manual", "writes the manual pages into a folder");
  sub->group("");  // not listed by --help
  sub->add_option("FOLDER", *folder)->required();
  sub->callback([&app, &action, folder] {
    action = [&app, folder] {
      const Status status = WriteManual(app, *folder);
      return status.ok() ? static_cast<int>(kExitOk) : Fail(AsWriteFailure(status));
    };
  });
}

}  // namespace fettle::tools
