#include "ranges/shape_ranges.h"

#include <algorithm>

#include "io/named_argument.h"
#include "tensor/shape_text.h"

namespace fettle::tools {
namespace {

constexpr std::string_view kDots = "..";

/// Adds "32..640", or "3", to the range.
Status AddExtent(std::string_view text, tuner::ShapeRange& range, Dims& low, Dims& high) {
  const size_t dots = text.find(kDots);
  const std::optional<int64_t> first = ExtentFromText(text.substr(0, dots));
  const std::optional<int64_t> last =
      dots == text.npos ? first : ExtentFromText(text.substr(dots + kDots.size()));
  if (!first || !last)
    return InvalidArgument("expected an extent, or a range such as 32..640, got '{}'", text);
  if (dots != text.npos) {
    if (*first == 0) return InvalidArgument("{}: a range begins at 1 or more", text);
    if (*first > *last)
      return InvalidArgument("{}: runs backwards; the smaller size comes first: {}..{}", text,
                             *last, *first);
    if (*first == *last) return InvalidArgument("{}: is one size; write {} for it", text, *first);
  }
  low.push_back(*first);
  high.push_back(*last);
  range = {Shape(low), Shape(high)};
  return OkStatus();
}

Result<tuner::ShapeRange> ParseRange(std::string_view text) {
  tuner::ShapeRange range;
  Dims low, high;
  for (size_t at = 0; !text.empty() && at <= text.size();) {
    const size_t end = std::min(text.find('x', at), text.size());
    RETURN_IF_ERROR(AddExtent(text.substr(at, end - at), range, low, high));
    at = end + 1;
  }
  if (!range.high.CheckedElements())
    return InvalidArgument("too many elements: {}", range.high.ToString());
  return range;
}

}  // namespace

void DescribeRanges(CLI::Option& shape) {
  shape.description(
      "NAME=1x3x224x224: the shape of an input, or NAME=1x3x32..640x32..640: all sizes between; "
      "may be given for each input");
}

std::string MisplacedRange(const CLI::App& command) {
  const CLI::Option* const shape = command.get_option_no_throw("--shape");
  if (shape == nullptr || command.get_name() == "tune") return "";
  for (const std::string& text : shape->results())
    if (HasRange({text}))
      return fmt::format("--shape: {}: only tune takes a range; give one size", text);
  return "";
}

bool HasRange(const std::vector<std::string>& shapes) {
  return std::ranges::any_of(shapes, [](const std::string& shape) {
    return shape.find(kDots, shape.rfind('=') + 1) != shape.npos;
  });
}

Result<tuner::ShapeRanges> ParseShapeRanges(const std::vector<std::string>& shapes) {
  tuner::ShapeRanges ranges;
  for (const std::string& text : shapes) {
    ASSIGN_OR_RETURN(const NamedText named, SplitNamedShape(text, "NAME=1x3x32..640x32..640"));
    ASSIGN_OR_RETURN(tuner::ShapeRange range, ParseRange(named.text));
    const auto [known, is_new] = ranges.emplace(named.name, range);
    if (!is_new && known->second != range)
      return InvalidArgument("input '{}' has two shapes, {} and {}; give one of them", known->first,
                             RangeText(known->second), RangeText(range));
  }
  return ranges;
}

std::string RangeText(const tuner::ShapeRange& range) {
  std::string text;
  for (int axis = 0; axis < range.low.rank(); ++axis) {
    text += fmt::format("{}{}", axis == 0 ? "" : "x", range.low[axis]);
    if (range.high[axis] != range.low[axis]) text += fmt::format("..{}", range.high[axis]);
  }
  return text;
}

}  // namespace fettle::tools
