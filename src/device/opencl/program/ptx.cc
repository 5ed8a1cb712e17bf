#include "device/opencl/program/ptx.h"

#include <string>
#include <string_view>

namespace fettle {
namespace {

constexpr std::string_view kMark = "//@", kTargetLine = ".target sm_90", kArchitecture = "a";

/// Only text has both.
bool IsPtx(std::string_view text) {
  return text.find("\n.version ") != std::string_view::npos &&
         text.find("\n.target sm_") != std::string_view::npos;
}

bool IsDigitOrLetter(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }

}  // namespace

Result<std::vector<std::byte>> WithMarkedInstructions(std::span<const std::byte> binary) {
  const std::string_view given(reinterpret_cast<const char*>(binary.data()), binary.size());
  if (!HasMarks(given) || !IsPtx(given)) return std::vector<std::byte>();
  std::string text(given);
  for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at))
    text.erase(at, kMark.size());
  const size_t target = text.find(kTargetLine), end = target + kTargetLine.size();
  if (target == std::string::npos || (end < text.size() && IsDigitOrLetter(text[end])))
    return Unsupported(
        "OpenCL: the program has instructions of compute capability 9.0, its PTX is for another");
  const std::string made = fmt::format("{}{}{}", std::string_view(text).substr(0, end),
                                       kArchitecture, std::string_view(text).substr(end));
  const auto bytes = std::as_bytes(std::span(made.data(), made.size()));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

bool HasMarks(std::string_view program) { return program.find(kMark) != std::string_view::npos; }

}  // namespace fettle
