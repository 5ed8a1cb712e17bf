#include "commands/program.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <system_error>

#include "commands/command.h"
#include "commands/hand_over.h"
#include "jobs/command_line.h"
#include "jobs/option_table.h"
#include "ranges/shape_ranges.h"
#include "report/messages.h"
#include "report/report.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

/// Where help says what an option does.
constexpr size_t kHelpColumn = 30;

void AddVersionFlags(CLI::App& app) {
  app.set_version_flag("--version", FETTLE_VERSION, "print the version and exit");
  app.set_help_flag("-h,--help", "print this help and exit");
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    if (!command->get_name().empty()) AddVersionFlags(*command);
}

/// What --help and --version print.
int PrintText(const std::string& text) {
  // Not fmt::print, which throws where standard output is full.
  std::fwrite(text.data(), 1, text.size(), stdout);
  return FlushOutput(kExitOk);
}

/// "Could not convert: --json = nan": a flag has no value, any other option has another one.
std::string ConversionMessage(const CLI::App& command, const std::string& text) {
  const size_t at = text.find(": ") + 2, equals = text.find(" = ", at);
  const std::string name = text.substr(at, equals - at);
  const CLI::Option* const option = command.get_option_no_throw(name);
  if (option != nullptr && option->get_items_expected_max() == 0) return name + ": takes no value";
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 3);
  return fmt::format("{}: '{}' is not such a value", name, value);
}

/// "At least 1 option from [--a,--b] is required" in other words; "FILE is required" stays.
std::string RequiredMessage(const CLI::App& command, const std::string& text) {
  for (const CLI::App* group :
       command.get_subcommands([](const CLI::App* app) { return app->get_name().empty(); })) {
    if (text.find('[') == std::string::npos) break;
    std::vector<std::string> names;
    ForEachOption(*group, [&](const CLI::Option& option) {
      if (option.get_name() != "--help") names.push_back(option.get_name());
    });
    return fmt::format("at least one of {} is required", fmt::join(names, ", "));
  }
  return text;
}

/// What CLI11 says of words that belong to no option or are too few or too many of one, in words of
/// ours.
std::string UsageMessage(const CLI::App& command, const CLI::ParseError& error) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !command.remaining().empty())
    return fmt::format("{}: '{}' is one argument too many", WordsOf(command),
                       command.remaining().front());
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return fmt::format("{}: {} (fettle {} --help)", WordsOf(command),
                       RequiredMessage(command, text), WordsOf(command));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return text.substr(0, text.find(':')) + (text.find("At Most") != std::string::npos
                                                 ? ": given more than once"
                                                 : ": a value is missing");
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return ConversionMessage(command, text);
  return text;
}

int Perform(const Action& action) {
  try {
    return FlushOutput(action());
  } catch (const std::bad_alloc&) {
    return Fail(Status(StatusCode::kOutOfMemory, "out of memory"));
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) return Fail(Status(StatusCode::kInternal, error.what()));
    errno = error.code().value();
    return FailOutput();
  } catch (const std::exception& error) {
    return Fail(Status(StatusCode::kInternal, error.what()));
  }
}

}  // namespace

int RunProgram(int argc, char** argv) {
  HoldStandardStreams();
  OutliveFileSizeLimit();
  CLI::App app("Runs neural networks on the device in front of you.", "fettle");
  app.require_subcommand(1);
  Action action;
  RegisterCommands(app, action);
  AddVersionFlags(app);
  std::vector<std::string> words = ReadWords(argc, argv);
  const bool wants_json = WantsJson(words);
  SetJsonFailures(wants_json);
  if (!words.empty() && words[0] == "enhance") return HandOver("fettle-enhance", argc, argv);
  // The program itself has no such option, its help has.
  if (AsksForHelp(words)) std::erase(words, "--json");
  if (const std::string sentence = Misspelling(app, words); !sentence.empty())
    return FailUsage(sentence);
  const CLI::App& command = NamedCommand(app, words);
  SetOtherNames(OtherNames(command, words));
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    return PrintText(wants_json ? OptionTable(command).dump(2) + "\n"
                                : Fit(app.help(), kHelpColumn));
  } catch (const CLI::CallForVersion& version) {
    return PrintText(fmt::format("{}\n", version.what()));
  } catch (const CLI::ParseError& error) {
    return FailUsage(UsageMessage(command, error));
  } catch (const std::exception&) {  // what a flag's value was not, from the standard library
    return FailUsage(WordsOf(command) + ": a flag takes no value");
  }
  if (const std::string sentence = MisplacedRange(command); !sentence.empty())
    return FailUsage(sentence);
  PrintWarnings(GivenWithoutEffect(command, words));
  return Perform(action);
}

}  // namespace fettle::tools
