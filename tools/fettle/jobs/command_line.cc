#include "jobs/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <string_view>

#include "base/nearest.h"

namespace fettle::tools {
namespace {

constexpr const char* kWithoutEffect = "Accepted by every command, without effect here";

bool IsSameButForCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// "; did you mean 'X'?" of the nearest name, or "".
std::string Suggestion(const std::string& word, const std::vector<std::string>& names) {
  const std::string* best = nullptr;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const bool begins = word.size() >= 4 && name.starts_with(word);
    const size_t distance = begins ? 1 : EditDistance(word, name);
    // Two letters are alike by chance, but for their case.
    if (word.size() <= 2 && name.size() <= 2 && !IsSameButForCase(word, name)) continue;
    if (distance >= least || distance >= std::max(word.size(), name.size()) / 2 + 1) continue;
    least = distance;
    best = &name;
  }
  return best == nullptr ? "" : fmt::format("; did you mean '{}'?", *best);
}

bool LooksLikeOption(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  const char next = word[1] == '.' && word.size() > 2 ? word[2] : word[1];
  return next < '0' || next > '9';
}

/// The option that a word gives, if the command has it.
const CLI::Option* Given(const CLI::App& command, const std::string& word) {
  const CLI::Option* found = command.get_option_no_throw(word.substr(0, word.find('=')));
  if (found == nullptr && word.size() > 2 && word[1] != '-')
    found = command.get_option_no_throw(word.substr(0, 2));
  return found;
}

/// Whether the word after `word` is its value.
bool TakesNext(const CLI::Option& option, const std::string& word) {
  const bool attached = word.find('=') != std::string::npos || (word[1] != '-' && word.size() > 2);
  return !attached && option.get_items_expected_min() > 0;
}

/// `visit(word, option)` of each word from `at` on that is an option; option is null where the
/// command has none of that name. Ends where `visit` returns false.
void ForEachGiven(const CLI::App& command, const std::vector<std::string>& words, size_t at,
                  const std::function<bool(const std::string&, const CLI::Option*)>& visit) {
  for (; at < words.size() && words[at] != "--"; ++at) {
    if (!LooksLikeOption(words[at])) continue;
    const CLI::Option* option = Given(command, words[at]);
    if (!visit(words[at], option)) return;
    if (option != nullptr && TakesNext(*option, words[at])) ++at;
  }
}

/// The names under which the words give options of the command.
std::set<std::string> GivenNames(const CLI::App& command, const std::vector<std::string>& words) {
  size_t at = 0;
  const CLI::App* top = &command;
  while (top->get_parent() != nullptr) top = top->get_parent();
  NamedCommand(*top, words, &at);
  std::set<std::string> names;
  ForEachGiven(command, words, at, [&](const std::string& word, const CLI::Option* option) {
    if (option == nullptr) return true;
    for (const std::string& name : NamesOf(*option))
      if (name == word.substr(0, word.find('=')) ||
          (name.size() == 2 && word[1] != '-' && word.starts_with(name)))
        names.insert(name);
    return true;
  });
  return names;
}

std::string PathOf(const CLI::App& command) {
  const std::string words = WordsOf(command);
  return words.empty() ? "fettle" : "fettle " + words;
}

/// Whether one of the command's words is a file, where others have an option for it.
bool TakesFile(const CLI::App& command) {
  return !command
              .get_options([](const CLI::Option* option) {
                return option->get_positional() && option->get_single_name() == "FILE";
              })
              .empty();
}

}  // namespace

std::string WordsOf(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "";
  const std::string before = WordsOf(*command.get_parent());
  return before.empty() ? command.get_name() : before + " " + command.get_name();
}

void ForEachOption(const CLI::App& command, const std::function<void(const CLI::Option&)>& visit) {
  for (const CLI::Option* option : command.get_options()) visit(*option);
  for (const CLI::App* group :
       command.get_subcommands([](const CLI::App* app) { return app->get_name().empty(); }))
    ForEachOption(*group, visit);
}

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

std::vector<std::string> ReadWords(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(1, argc), argv + argc);
  if (words.empty()) return words;
  if (words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  } else if (words[0] == "version") {
    words[0] = "--version";
  }
  return words;
}

const CLI::App& NamedCommand(const CLI::App& app, const std::vector<std::string>& words,
                             size_t* taken) {
  const CLI::App* command = &app;
  size_t at = 0;
  for (; at < words.size(); ++at) {
    const auto found = command->get_subcommands([&](const CLI::App* sub) {
      return !sub->get_name().empty() && sub->get_name() == words[at];
    });
    if (found.empty()) break;
    command = found.front();
  }
  if (taken != nullptr) *taken = at;
  return *command;
}

std::string Misspelling(const CLI::App& app, const std::vector<std::string>& words) {
  size_t at = 0;
  const CLI::App& command = NamedCommand(app, words, &at);
  const std::string path = PathOf(command);
  std::vector<std::string> commands, options;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App* sub) {
         return !sub->get_name().empty() && !sub->get_group().empty();
       }))
    commands.push_back(sub->get_name());
  if (!commands.empty() && at == words.size())
    return fmt::format("a command is required: {}", fmt::join(commands, ", "));
  if (!commands.empty() && at < words.size() && !words[at].starts_with('-')) {
    const std::string nearest = Suggestion(words[at], commands);
    return fmt::format("unknown command '{}'{} {}", words[at],
                       nearest.empty() ? "; there are" : nearest + " There are",
                       fmt::join(NearestFirst(words[at], commands), ", "));
  }
  ForEachOption(command, [&](const CLI::Option& option) {
    for (std::string& name : NamesOf(option)) options.push_back(std::move(name));
  });
  std::string sentence;
  ForEachGiven(command, words, at, [&](const std::string& word, const CLI::Option* option) {
    if (option != nullptr) return true;
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with("-o") || name == "--output") {
      if (TakesFile(command)) {
        sentence = fmt::format("{}: unknown option '{}'; the file is a word of its own: {} FILE",
                               WordsOf(command), name, path);
        return false;
      }
    }
    sentence =
        fmt::format("{}unknown option '{}'{} ({} --help lists them)",
                    at == 0 ? "" : WordsOf(command) + ": ", name, Suggestion(name, options), path);
    return false;
  });
  return sentence;
}

bool AsksForHelp(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

bool WantsJson(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word == "--json") return true;
  }
  const char* variable = std::getenv("FETTLE_JSON");
  if (variable == nullptr) return false;
  static constexpr std::string_view kOff[] = {"", "0", "false", "off", "no"};
  return std::find(std::begin(kOff), std::end(kOff), std::string_view(variable)) == std::end(kOff);
}

std::map<std::string, std::string> OtherNames(const CLI::App& command,
                                              const std::vector<std::string>& words) {
  const std::set<std::string> given = GivenNames(command, words);
  std::map<std::string, std::string> others;
  ForEachOption(command, [&](const CLI::Option& option) {
    const std::vector<std::string> names = NamesOf(option);
    if (names.empty()) return;
    const auto used = std::find_if(names.begin(), names.end(),
                                   [&](const std::string& name) { return given.contains(name); });
    if (used != names.end()) {
      if (*used != option.get_name() && used->starts_with("--"))
        others.emplace(option.get_name(), *used);
      return;
    }
    const std::string variable = option.get_envname();
    const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
    if (value != nullptr && *value != '\0') others.emplace(option.get_name(), variable);
  });
  return others;
}

void MarkWithoutEffect(CLI::App& command, const std::vector<std::string>& options) {
  for (const std::string& name : options) command.get_option(name)->group(kWithoutEffect);
}

bool HasEffect(const CLI::Option& option) { return option.get_group() != kWithoutEffect; }

std::vector<std::string> GivenWithoutEffect(const CLI::App& command,
                                            const std::vector<std::string>& words) {
  const std::set<std::string> given = GivenNames(command, words);
  std::vector<std::string> sentences;
  ForEachOption(command, [&](const CLI::Option& option) {
    if (HasEffect(option)) return;
    for (const std::string& name : NamesOf(option))
      if (given.contains(name))
        sentences.push_back(fmt::format("{}: {} has no effect", WordsOf(command), name));
  });
  return sentences;
}

}  // namespace fettle::tools
