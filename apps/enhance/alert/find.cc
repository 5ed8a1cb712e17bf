#include "alert/find.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

namespace fettle::enhance {
namespace {

constexpr const char* kFinds = "fettle.finds";
/// Of the longer side: how near two finds of one thing are.
constexpr float kDouble = 0.5f;

}  // namespace

bool AreNear(const Box& a, const Box& b, float reach) {
  const float across = a.x - b.x + (a.width - b.width) / 2;
  const float down = a.y - b.y + (a.height - b.height) / 2;
  const float side = std::max({a.width, a.height, b.width, b.height});
  return std::hypot(across, down) < reach * side;
}

std::vector<Find> WithoutDoubles(std::vector<Find> finds) {
  std::ranges::sort(
      finds, {}, [](const Find& find) { return std::tuple(-find.score, find.box.y, find.box.x); });
  std::vector<Find> kept;
  for (const Find& find : finds) {
    const auto is_it = [&](const Find& better) { return AreNear(find.box, better.box, kDouble); };
    if (std::ranges::none_of(kept, is_it)) kept.push_back(find);
  }
  return kept;
}

std::string TextOf(const std::vector<Find>& finds) {
  std::vector<std::string> rows;
  for (const auto& [box, score] : finds)
    rows.push_back(fmt::format("[{:.1f},{:.1f},{:.1f},{:.1f},{:.3f}]", box.x, box.y, box.width,
                               box.height, score));
  return fmt::format("[{}]", fmt::join(rows, ","));
}

std::vector<Find> ReadFinds(const std::string& text) {
  std::vector<Find> finds;
  try {
    for (const auto& row : nlohmann::json::parse(text)) {
      const auto values = row.get<std::vector<float>>();
      if (values.size() != 5)
        throw Failure(kExitInvalidInput, "a find that does not have five numbers");
      finds.push_back({{values[0], values[1], values[2], values[3]}, values[4]});
    }
  } catch (const nlohmann::json::exception& error) {
    throw Failure(kExitInvalidInput, fmt::format("finds: {}", error.what()));
  }
  return finds;
}

void SetFinds(AVFrame& frame, const std::vector<Find>& finds) {
  CheckAv(av_dict_set(&frame.metadata, kFinds, TextOf(finds).c_str(), 0), "finds of a frame");
}

const char* FindsOf(const AVFrame& frame) {
  const AVDictionaryEntry* entry = av_dict_get(frame.metadata, kFinds, nullptr, 0);
  return entry == nullptr ? nullptr : entry->value;
}

void ForgetFinds(AVFrame& frame) { av_dict_set(&frame.metadata, kFinds, nullptr, 0); }

}  // namespace fettle::enhance
