#include "importers/onnx/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace fettle::onnx {
namespace {

/// Different operators or values that a message lists; a model that needs more is no better
/// described by a longer line.
constexpr size_t kListed = 100;

}  // namespace

void UnsupportedReport::AddOperator(std::string_view domain, std::string_view op_type,
                                    int64_t opset, size_t index, std::string_view node_name,
                                    std::string_view reason) {
  const std::string name =
      domain.empty() ? std::string(op_type) : fmt::format("{}.{}", domain, op_type);
  const auto it = std::find_if(operators_.begin(), operators_.end(), [&](const Operator& known) {
    return known.name == name && known.reason == reason && known.opset == opset;
  });
  if (it != operators_.end()) {
    ++it->nodes;
  } else if (operators_.size() < kListed) {
    operators_.push_back({name, std::string(reason), opset, index, std::string(node_name), 1});
  } else {
    more_operators_.insert(fmt::format("{} {} {}", name, opset, reason));
  }
}

void UnsupportedReport::AddOther(std::string text) {
  if (std::find(others_.begin(), others_.end(), text) != others_.end()) return;
  if (others_.size() < kListed)
    others_.push_back(std::move(text));
  else
    more_others_.insert(std::move(text));
}

Status UnsupportedReport::ToStatus() const {
  return empty() ? OkStatus() : Status(StatusCode::kUnsupported, Text());
}

std::string UnsupportedReport::Text() const {
  std::vector<std::string> parts;
  for (const Operator& op : operators_) {
    std::string part = fmt::format("{} (opset {}, {} node{}, first #{}", op.name, op.opset,
                                   op.nodes, op.nodes == 1 ? "" : "s", op.index);
    if (!op.node_name.empty()) part += fmt::format(" '{}'", op.node_name);
    if (!op.reason.empty()) part += fmt::format(": {}", op.reason);
    parts.push_back(part + ")");
  }
  std::string text;
  if (!parts.empty()) {
    const size_t count = parts.size() + more_operators_.size();
    text = fmt::format("{} unsupported operator{}{}: {}", count, count == 1 ? "" : "s",
                       more_operators_.empty() ? "" : fmt::format(", the first {}", parts.size()),
                       fmt::join(parts, ", "));
  }
  if (!others_.empty())
    text += fmt::format("{}{}", text.empty() ? "" : "; ", fmt::join(others_, "; "));
  if (!more_others_.empty()) text += fmt::format("; and {} more", more_others_.size());
  return text;
}

}  // namespace fettle::onnx
