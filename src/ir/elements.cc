#include "ir/elements.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace fettle::ir {
namespace {

template <typename T>
Result<T> ReadNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument("expected a number, got '{}'", text);
  }
  return value;
}

template <typename T>
std::string ShortestFloat(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// The limits of the nibble types are narrower than those of the byte that holds them.
template <typename T>
bool InRange(DType dtype, Wide<T> value) {
  if (dtype == DType::kI4) return value >= Wide<T>{0} - Wide<T>{8} && value <= Wide<T>{7};
  if (dtype == DType::kU4) return value <= Wide<T>{15};
  return value >= Wide<T>{std::numeric_limits<T>::min()} &&
         value <= Wide<T>{std::numeric_limits<T>::max()};
}

template <typename T>
Result<T> ReadAs(std::string_view text, DType dtype) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text == "1" || text == "true") return true;
    if (text == "0" || text == "false") return false;
    return InvalidArgument("expected 0 or 1, got '{}'", text);
  } else if constexpr (std::is_same_v<T, double>) {
    return ReadNumber<double>(text);
  } else if constexpr (kIsFloating<T>) {
    ASSIGN_OR_RETURN(const float value, ReadNumber<float>(text));
    return static_cast<T>(value);
  } else {
    ASSIGN_OR_RETURN(const Wide<T> value, ReadNumber<Wide<T>>(text));
    if (!InRange<T>(dtype, value)) {
      return InvalidArgument("'{}' does not fit type {}", text, DTypeName(dtype));
    }
    return static_cast<T>(value);
  }
}

}  // namespace

std::string ElementText(DType dtype, const std::byte* element) {
  std::string text;
  DispatchDType(dtype, [&]<typename T>() {
    T value;
    std::memcpy(&value, element, sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      text = value ? "1" : "0";
    } else if constexpr (std::is_same_v<T, double>) {
      text = ShortestFloat(value);
    } else if constexpr (kIsFloating<T>) {
      text = ShortestFloat(static_cast<float>(value));
    } else {
      text = fmt::format("{}", Widen(value));
    }
  });
  return text;
}

Status ReadElement(std::string_view text, DType dtype, std::byte* element) {
  Status status;
  const bool known = DispatchDType(dtype, [&]<typename T>() {
    const Result<T> value = ReadAs<T>(text, dtype);
    status = value.status();
    if (status.ok()) std::memcpy(element, &value.value(), sizeof(T));
  });
  if (!known) return InvalidArgument("type {} has no elements", DTypeName(dtype));
  return status;
}

std::string FloatText(double value) {
  std::string text = ShortestFloat(value);
  const auto narrow = static_cast<float>(value);
  if (!std::isfinite(value) || static_cast<double>(narrow) != value) return text;
  const std::string narrow_text = ShortestFloat(narrow);
  return narrow_text == text ? text : narrow_text + "f";
}

Result<double> ReadFloat(std::string_view text) {
  if (text.size() > 1 && text.back() == 'f' && text != "inf" && text != "-inf") {
    ASSIGN_OR_RETURN(const float value, ReadNumber<float>(text.substr(0, text.size() - 1)));
    return static_cast<double>(value);
  }
  return ReadNumber<double>(text);
}

Result<int64_t> ReadInt(std::string_view text) { return ReadNumber<int64_t>(text); }

}  // namespace fettle::ir
