// The layout table: one row names a layout. Adding a row is all that a new layout needs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "tensor/extra_layout.h"
#include "tensor/layout.h"

namespace fettle {
namespace {

Layout Ordered(std::vector<int> order) { return Layout{.order = std::move(order)}; }
Layout ChannelBlocked(int64_t block) { return Layout{.blocks = {{1, block}}}; }
/// Images of four channels a pixel: y counts N and H, x channel blocks and W.
Layout ChannelPixels() {
  return Layout{.order = {0, 2, 1, 3}, .blocks = {{1, 4}}, .image_y_dims = 2};
}

/// The same of rank 3, where y counts N alone.
Layout ChannelPixelRows() {
  return Layout{.order = {0, 1, 2}, .blocks = {{1, 4}}, .image_y_dims = 1};
}

/// Reads "(a,b,...)" items after `tag` in `text`; false if the text does not continue that way.
bool ReadList(std::string_view& text, std::string_view tag, std::vector<int64_t>& items) {
  if (!text.starts_with(tag)) return true;
  text.remove_prefix(tag.size());
  if (!text.starts_with('(')) return false;
  do {
    text.remove_prefix(1);
    int64_t item = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), item);
    if (error != std::errc()) return false;
    items.push_back(item);
    text.remove_prefix(end - text.data());
  } while (text.starts_with(',') || text.starts_with(':'));
  if (!text.starts_with(')')) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<Layout> ParseGeneral(std::string_view text) {
  std::vector<int64_t> order, blocks, pitch, image;
  if (!ReadList(text, "order", order) || !ReadList(text, "blocks", blocks) ||
      !ReadList(text, "pitch", pitch) || !ReadList(text, "y", image) || !text.empty() ||
      blocks.size() % 2 != 0) {
    return std::nullopt;
  }
  Layout layout;
  for (int64_t axis : order) layout.order.push_back(static_cast<int>(axis));
  for (size_t i = 0; i < blocks.size(); i += 2)
    layout.blocks.push_back({static_cast<int>(blocks[i]), blocks[i + 1]});
  if (!pitch.empty()) layout.pitch = pitch[0];
  if (!image.empty()) layout.image_y_dims = static_cast<int>(image[0]);
  return layout;
}

std::vector<NamedLayout>& Rows() {
  static std::vector<NamedLayout> rows = {
      {"NWC", 3, Ordered({0, 2, 1})},         {"NHWC", 4, Ordered({0, 2, 3, 1})},
      {"NDHWC", 5, Ordered({0, 2, 3, 4, 1})}, {"NCHW4c", 4, ChannelBlocked(4)},
      {"NCHW8c", 4, ChannelBlocked(8)},       {"NCHW16c", 4, ChannelBlocked(16)},
      {"NCHW32c", 4, ChannelBlocked(32)},     {"NC4HW4", 4, ChannelPixels()},
      {"NC4W4", 3, ChannelPixelRows()},
  };
  return rows;
}

}  // namespace

std::span<const NamedLayout> LayoutTable() { return Rows(); }

ExtraLayout::ExtraLayout(NamedLayout row) { Rows().push_back(std::move(row)); }
ExtraLayout::~ExtraLayout() { Rows().pop_back(); }

std::vector<Layout> LayoutsOfRank(int rank) {
  std::vector<Layout> layouts{Layout::RowMajor()};
  for (const NamedLayout& row : LayoutTable()) {
    if (row.rank == rank && row.layout.image_y_dims == 0) layouts.push_back(row.layout);
  }
  return layouts;
}

std::string LayoutName(const Layout& layout, int rank) {
  if (layout == Layout::RowMajor()) return "row";
  for (const NamedLayout& row : LayoutTable()) {
    if (row.rank == rank && row.layout == layout) return std::string(row.name);
  }
  std::string text;
  if (!layout.order.empty()) text += fmt::format("order({})", fmt::join(layout.order, ","));
  for (size_t i = 0; i < layout.blocks.size(); ++i) {
    text += fmt::format("{}{}:{}{}", i == 0 ? "blocks(" : ",", layout.blocks[i].axis,
                        layout.blocks[i].size, i + 1 == layout.blocks.size() ? ")" : "");
  }
  if (layout.pitch != 0) text += fmt::format("pitch({})", layout.pitch);
  if (layout.image_y_dims != 0) text += fmt::format("y({})", layout.image_y_dims);
  return text;
}

std::optional<Layout> LayoutFromName(std::string_view name, int rank) {
  if (name == "row" || (name == "NCHW" && rank == 4)) return Layout::RowMajor();
  for (const NamedLayout& row : LayoutTable()) {
    if (row.rank == rank && row.name == name) return row.layout;
  }
  std::optional<Layout> layout = ParseGeneral(name);
  if (!layout || !layout->IsValidFor(rank)) return std::nullopt;
  return layout;
}

}  // namespace fettle
