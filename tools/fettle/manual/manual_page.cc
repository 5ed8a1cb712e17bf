#include "manual/manual_page.h"

#include <fmt/format.h>

#include "jobs/command_line.h"

namespace fettle::tools {
namespace {

/// `text` as troff takes it for text: no escapes, no requests, hyphens as they are typed.
std::string Troff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n'))
      escaped += fmt::format("\\&{}", c);
    else
      escaped += c;
  }
  return escaped;
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands(
      [](const CLI::App* sub) { return !sub->get_name().empty() && !sub->get_group().empty(); });
}

/// "FLOAT", "{a,b}" as "a|b"; empty for flags.
std::string ValueOfOption(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return type.substr(0, type.find(':'));
  type = type.substr(begin + 1, end - begin - 1);
  std::replace(type.begin(), type.end(), ',', '|');
  return type;
}

std::string OptionEntry(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : NamesOf(option))
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", Troff(name));
  if (option.get_positional()) names = fmt::format("\\fI{}\\fR", option.get_single_name());
  const std::string value = option.get_positional() ? "" : ValueOfOption(option);
  if (!value.empty()) names += fmt::format(" \\fI{}\\fR", Troff(value));
  std::string entry = fmt::format(".TP\n{}\n{}\n", names, Troff(option.get_description()));
  if (!option.get_envname().empty())
    entry += fmt::format("(variable \\fB{}\\fR)\n", option.get_envname());
  return entry;
}

std::string Options(const CLI::App& command) {
  std::string text;
  ForEachOption(command, [&](const CLI::Option& option) {
    if (HasEffect(option)) text += OptionEntry(option);
  });
  return text;
}

std::string Synopsis(const CLI::App& command, const std::string& path) {
  std::string line = fmt::format(".B {}\n", Troff(path));
  if (!CommandsOf(command).empty()) return line + ".I COMMAND\n[\\fIOPTIONS\\fR]\n";
  ForEachOption(command, [&](const CLI::Option& option) {
    if (!option.get_positional()) return;
    const bool optional = !option.get_required();
    line += fmt::format("{}\\fI{}\\fR{}\n", optional ? "[" : "", option.get_single_name(),
                        optional ? "]" : "");
  });
  return line + "[\\fIOPTIONS\\fR]\n";
}

constexpr const char* kExitStatus = R"(.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
failed while running
.TP
.B 2
usage
.TP
.B 3
invalid input: a model, package, tensor or picture
.TP
.B 4
unsupported: an operator or a device
.TP
.B 5
results differ
)";

}  // namespace

std::string ManualPage(const CLI::App& app, const CLI::App& command) {
  const bool is_program = &app == &command;
  const std::string name = is_program ? app.get_name() : app.get_name() + "-" + command.get_name();
  const std::string path = is_program ? app.get_name() : app.get_name() + " " + command.get_name();
  std::string page = fmt::format(
      ".TH {} 1 \"\" \"Fettle {}\" \"Fettle\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}", Troff(name),
      FETTLE_VERSION, Troff(name), Troff(command.get_description()), Synopsis(command, path));
  const auto commands = CommandsOf(command);
  if (!commands.empty()) page += ".SH COMMANDS\n";
  for (const CLI::App* sub : commands) {
    page += fmt::format(
        ".TP\n\\fB{}\\fR\n{}{}\n", Troff(sub->get_name()), Troff(sub->get_description()),
        is_program ? fmt::format("; \\fB{}\\fR(1)", Troff(name + "-" + sub->get_name())) : "");
    if (!is_program) page += fmt::format(".RS\n{}.RE\n", Options(*sub));
  }
  if (const std::string options = Options(command); !options.empty())
    page += ".SH OPTIONS\n" + options;
  page += kExitStatus;
  page += ".SH SEE ALSO\n";
  page += is_program ? "The documents in /usr/share/doc/fettle.\n"
                     : fmt::format("\\fB{}\\fR(1)\n", Troff(app.get_name()));
  return page;
}

std::vector<std::string> ManualPages(const CLI::App& app) {
  std::vector<std::string> names = {app.get_name()};
  for (const CLI::App* command : CommandsOf(app))
    names.push_back(app.get_name() + "-" + command->get_name());
  return names;
}

}  // namespace fettle::tools
