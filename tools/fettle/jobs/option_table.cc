#include "jobs/option_table.h"

#include "jobs/command_line.h"

namespace fettle::tools {
namespace {

Json NullWhereEmpty(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json NamesOfAll(const std::set<CLI::Option*>& options) {
  Json names = Json::array();
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  return names;
}

Json OptionRow(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : NamesOf(option)) names.push_back(name);
  if (option.get_positional()) names.push_back(option.get_single_name());
  const bool takes_value = option.get_items_expected_max() > 0;
  return {{"names", names},
          {"positional", option.get_positional()},
          {"value", takes_value ? Json(option.get_type_name()) : Json()},
          {"variable", NullWhereEmpty(option.get_envname())},
          {"required", option.get_required()},
          {"has_effect", HasEffect(option)},
          {"needs", NamesOfAll(option.get_needs())},
          {"excludes", NamesOfAll(option.get_excludes())},
          {"description", option.get_description()}};
}

}  // namespace

Json OptionTable(const CLI::App& command) {
  Json options = Json::array(), commands = Json::array();
  ForEachOption(command, [&](const CLI::Option& option) { options.push_back(OptionRow(option)); });
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App* app) {
         return !app->get_name().empty() && !app->get_group().empty();
       }))
    commands.push_back(OptionTable(*sub));
  return {{"command", command.get_name()},
          {"description", command.get_description()},
          {"options", options},
          {"commands", commands}};
}

}  // namespace fettle::tools
