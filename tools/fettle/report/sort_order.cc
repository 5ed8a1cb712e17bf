#include "report/sort_order.h"

#include <map>

#include "options/checks.h"

namespace fettle::tools {

void AddSort(CLI::App& app, SortOrder& order) {
  static const std::map<std::string, SortOrder> kOrders = {
      {"time", SortOrder::kTime}, {"order", SortOrder::kOrder}, {"name", SortOrder::kName}};
  app.add_option_function<std::string>(
         "--sort", [&order](const std::string& text) { order = kOrders.at(text); },
         "order of lines in the table (default: most expensive first)")
      ->envname("FETTLE_SORT")
      ->check(OneOf({"time", "order", "name"}));
}

}  // namespace fettle::tools
