#include "command/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace fettle::enhance {

namespace {

template <typename T>
CLI::Validator From(T low, T high, std::string_view what, std::string_view type) {
  return CLI::Validator(
      [=](const std::string& text) {
        T number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        return whole && number >= low && number <= high
                   ? ""
                   : fmt::format("expected {}{} to {}, got '{}'", what, low, high, text);
      },
      fmt::format("{} in [{} - {}]", type, low, high));
}

}  // namespace

CLI::Validator NumberFrom(double low, double high) { return From(low, high, "", "FLOAT"); }
CLI::Validator WholeFrom(int low, int high) { return From(low, high, "a whole number of ", "INT"); }

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
