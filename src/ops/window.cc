#include "ops/window.h"

#include <algorithm>
#include <variant>

namespace fettle::ops {
namespace {

/// The attribute, or `count` times `usual` where there is none.
std::vector<int64_t> IntsOr(const ir::Attributes& attributes, std::string_view name, size_t count,
                            int64_t usual) {
  const ir::Attribute* const found = attributes.Find(name);
  const auto* const ints = found == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(found);
  return ints == nullptr ? std::vector<int64_t>(count, usual) : *ints;
}

Status ReadExplicitPads(const ir::Attributes& attributes, Window& window) {
  const auto rank = window.kernel.size();
  const std::vector<int64_t> pads = IntsOr(attributes, "pads", 2 * rank, 0);
  RETURN_IF_ERROR(CheckRange("pads", pads, 2 * rank, 0));
  std::copy_n(pads.begin(), rank, window.pad_begin.begin());
  std::copy_n(pads.begin() + static_cast<ptrdiff_t>(rank), rank, window.pad_end.begin());
  return OkStatus();
}

Status ReadPads(const ir::Attributes& attributes, const Shape& input, Window& window) {
  const auto rank = window.kernel.size();
  const ir::Attribute* const found = attributes.Find("auto_pad");
  const auto* const text = found == nullptr ? nullptr : std::get_if<std::string>(found);
  const std::string_view mode = text == nullptr ? "NOTSET" : std::string_view(*text);
  window.pad_begin.assign(rank, 0);
  window.pad_end.assign(rank, 0);
  if (mode == "VALID") return OkStatus();
  if (mode == "NOTSET" || mode.empty()) return ReadExplicitPads(attributes, window);
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return InvalidModel(
        "attribute 'auto_pad': expected NOTSET|VALID|SAME_UPPER|SAME_LOWER, got '{}'", mode);
  }
  window.same = mode == "SAME_UPPER" ? SamePads::kUpper : SamePads::kLower;
  for (int i = 0; i < window.spatial_rank(); ++i) {
    const size_t at = i;
    const Padding padding =
        SamePadding(window.same, input[i + 2], window.Span(i), window.strides[at]);
    window.pad_begin[at] = padding.begin;
    window.pad_end[at] = padding.end;
  }
  return OkStatus();
}

}  // namespace

Padding SamePadding(SamePads same, int64_t extent, int64_t span, int64_t stride) {
  const int64_t out = (extent + stride - 1) / stride;
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + span - extent);
  const int64_t begin = same == SamePads::kUpper ? total / 2 : total - total / 2;
  return {begin, total - begin};
}

Status CheckRange(std::string_view name, const std::vector<int64_t>& values, size_t rank,
                  int64_t low) {
  constexpr int64_t kLimit = int64_t{1} << 30;
  if (values.size() != rank)
    return InvalidModel("attribute '{}': expected {} values, got {}", name, rank, values.size());
  for (int64_t value : values) {
    if (value < low || value > kLimit)
      return InvalidModel("attribute '{}': value {} out of range", name, value);
  }
  return OkStatus();
}

Result<Window> ReadWindow(const ir::Attributes& attributes, std::vector<int64_t> kernel,
                          const Shape& input) {
  if (input.rank() < 3)
    return InvalidModel("expected an input of rank 3 or more, got {}", input.ToString());
  const size_t rank = input.rank() - 2;
  Window window;
  window.kernel = std::move(kernel);
  window.strides = IntsOr(attributes, "strides", rank, 1);
  window.dilations = IntsOr(attributes, "dilations", rank, 1);
  RETURN_IF_ERROR(CheckRange("kernel_shape", window.kernel, rank, 1));
  RETURN_IF_ERROR(CheckRange("strides", window.strides, rank, 1));
  RETURN_IF_ERROR(CheckRange("dilations", window.dilations, rank, 1));
  RETURN_IF_ERROR(ReadPads(attributes, input, window));
  return window;
}

int64_t WindowOutputExtent(const Window& window, int i, int64_t input_extent) {
  const size_t at = i;
  if (window.same != SamePads::kNone)
    return (input_extent + window.strides[at] - 1) / window.strides[at];
  const int64_t room = input_extent + window.pad_begin[at] + window.pad_end[at] - window.Span(i);
  return room < 0 ? 0 : room / window.strides[at] + 1;
}

TapRange InsideTaps(const Window& window, int i, int64_t position, int64_t extent) {
  const size_t at = i;
  const int64_t start = position * window.strides[at] - window.pad_begin[at];
  const int64_t dilation = window.dilations[at];
  const int64_t first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  const int64_t room = extent - start;
  const int64_t last = room <= 0 ? 0 : (room + dilation - 1) / dilation;
  const int64_t end = std::min(window.kernel[at], last);
  return {std::min(first, end), end};
}

}  // namespace fettle::ops
