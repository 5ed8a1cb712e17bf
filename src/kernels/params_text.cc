#include "kernels/params_text.h"

#include <charconv>

namespace fettle::kernels {

std::string PrintParams(const Params& params, std::string_view between) {
  std::string text;
  for (const auto& [name, value] : params)
    text += fmt::format("{}{}={}", text.empty() ? "" : between, name, value);
  return text;
}

std::optional<Params> ParseParams(std::string_view text) {
  Params params;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find_first_of(", "));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    const size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
    int64_t value = 0;
    const char* const end = pair.data() + pair.size();
    const auto [at, error] = std::from_chars(pair.data() + equals + 1, end, value);
    if (error != std::errc() || at != end) return std::nullopt;
    params.emplace(pair.substr(0, equals), value);
  }
  return params;
}

}  // namespace fettle::kernels
