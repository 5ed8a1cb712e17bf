#include "options/checks.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/nearest.h"

namespace fettle::tools {
namespace {

/// The whole text as a number that `T` holds.
template <typename T>
std::optional<T> NumberOf(const std::string& text) {
  T number{};
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(number)) return std::nullopt;
  return number;
}

/// `description` stands in help, `expected` in messages.
template <typename T, typename Accepts>
CLI::Validator NumberCheck(std::string description, std::string expected, Accepts accepts) {
  return CLI::Validator(
      [expected = std::move(expected), accepts](const std::string& text) {
        const std::optional<T> number = NumberOf<T>(text);
        return number && accepts(*number) ? ""
                                          : fmt::format("expected {}, got '{}'", expected, text);
      },
      std::move(description));
}

template <typename T>
CLI::Validator RangeCheck(T low, T high) {
  return NumberCheck<T>(
      fmt::format("{} to {}", low, high),
      fmt::format("{}{} to {}", std::is_integral_v<T> ? "a whole number of " : "", low, high),
      [low, high](T number) { return number >= low && number <= high; });
}

}  // namespace

CLI::Validator OneOf(std::vector<std::string> names) {
  std::string description = CLI::IsMember(names).get_description();
  return CLI::Validator(
      [names = std::move(names)](const std::string& text) {
        for (const std::string& name : names)
          if (text == name) return std::string();
        return fmt::format("expected {}, got '{}'", fmt::join(NearestFirst(text, names), "|"),
                           text);
      },
      std::move(description));
}

CLI::Validator Between(int low, int high) { return RangeCheck(low, high); }
CLI::Validator Between(int64_t low, int64_t high) { return RangeCheck(low, high); }
CLI::Validator Between(double low, double high) { return RangeCheck(low, high); }

CLI::Validator Finite() {
  return NumberCheck<double>("", "a number", [](double) { return true; });
}

CLI::Validator Positive() {
  return NumberCheck<double>("above 0", "a number above 0",
                             [](double number) { return number > 0; });
}

CLI::Validator ByteSize() {
  const CLI::AsSizeValue size(/*kb_is_1000=*/true);
  return CLI::Validator(
      [size](std::string& text) {
        std::string number = text;
        try {
          if (size(number).empty()) return text = std::move(number), std::string();
        } catch (const CLI::ValidationError&) {  // of a unit or a number that there is not
        }
        return fmt::format("expected a size such as 8MB, 1GB or 4096, got '{}'", text);
      },
      "such as 8MB or 1GB");
}

template <typename T>
CLI::Validator NonNegative() {
  return NumberCheck<T>(
      "0 or more", std::is_integral_v<T> ? "a whole number of 0 or more" : "a number of 0 or more",
      [](T number) { return number >= 0; });
}

template CLI::Validator NonNegative<double>();
template CLI::Validator NonNegative<int64_t>();
template CLI::Validator NonNegative<uint64_t>();

}  // namespace fettle::tools
