// What a command line says beyond what CLI11 makes of it: which command it names, what it
// misspells, and which options come from the environment.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fettle::tools {

/// "run", "db export"; "" of the program itself.
std::string WordsOf(const CLI::App& command);

/// `visit` of each option of `command`, those of option groups too.
void ForEachOption(const CLI::App& command, const std::function<void(const CLI::Option&)>& visit);

/// "--threads", "-o"; none of a positional.
std::vector<std::string> NamesOf(const CLI::Option& option);

/// The words after the program's name, with `help`, `help COMMAND` and `version` as the options
/// that say the same.
std::vector<std::string> ReadWords(int argc, char** argv);

/// The command that the words name (`app` where they name none), and how many words that took.
const CLI::App& NamedCommand(const CLI::App& app, const std::vector<std::string>& words,
                             size_t* taken = nullptr);

/// One sentence on the first word that is not a command or no option of the command, with the
/// nearest one that is; empty where there is none.
std::string Misspelling(const CLI::App& app, const std::vector<std::string>& words);

bool AsksForHelp(const std::vector<std::string>& words);

/// Whether `--json` or FETTLE_JSON asks for JSON.
bool WantsJson(const std::vector<std::string>& words);

/// The options of `command` whose value is that of an environment variable, as "--threads" ->
/// "FETTLE_THREADS", and those spelled in another way, as "--iters" -> "--iter".
std::map<std::string, std::string> OtherNames(const CLI::App& command,
                                              const std::vector<std::string>& words);

/// Marks options of `command` that it takes because all do, without effect; those that the words
/// give become warnings of GivenWithoutEffect.
void MarkWithoutEffect(CLI::App& command, const std::vector<std::string>& options);
bool HasEffect(const CLI::Option& option);
std::vector<std::string> GivenWithoutEffect(const CLI::App& command,
                                            const std::vector<std::string>& words);

}  // namespace fettle::tools
