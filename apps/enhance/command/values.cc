#include "command/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace fettle::enhance {

CLI::Validator NumberFrom(double low, double high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        return whole && number >= low && number <= high
                   ? ""
                   : fmt::format("expected {} to {}, got '{}'", low, high, text);
      },
      fmt::format("FLOAT in [{} - {}]", low, high));
}

CLI::Validator WholeFrom(int low, int high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        int number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        return whole && number >= low && number <= high
                   ? ""
                   : fmt::format("expected a whole number of {} to {}, got '{}'", low, high, text);
      },
      fmt::format("INT in [{} - {}]", low, high));
}

CLI::Validator OneOf(const std::vector<std::string>& words) {
  return CLI::Validator(
      [words](const std::string& text) {
        return std::ranges::find(words, text) != words.end()
                   ? ""
                   : fmt::format("expected {}, got '{}'", fmt::join(words, " or "), text);
      },
      fmt::format("{{{}}}", fmt::join(words, ",")));
}

}  // namespace fettle::enhance
