#include "ir/attributes.h"

#include <algorithm>

namespace fettle::ir {
namespace {

template <typename T>
T Get(const Attribute* attribute, T fallback) {
  if (attribute == nullptr) return fallback;
  const T* value = std::get_if<T>(attribute);
  return value == nullptr ? fallback : *value;
}

/// Where `name` is, or would be.
auto PlaceOf(auto& items, std::string_view name) {
  return std::lower_bound(items.begin(), items.end(), name,
                          [](const auto& item, std::string_view key) { return item.first < key; });
}

}  // namespace

Attributes::Attributes() = default;
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;

Attributes::Attributes(std::initializer_list<std::pair<std::string, Attribute>> items) {
  for (const auto& [name, value] : items) Set(name, value);
}

const Attributes::Items& Attributes::items() const {
  static const Items kNone;
  return items_ == nullptr ? kNone : *items_;
}

const Attribute* Attributes::Find(std::string_view name) const {
  const Items& items = this->items();
  const auto it = PlaceOf(items, name);
  return it != items.end() && it->first == name ? &it->second : nullptr;
}

void Attributes::Set(std::string_view name, Attribute value) {
  auto changed = std::make_shared<Items>(items());
  const auto it = PlaceOf(*changed, name);
  if (it != changed->end() && it->first == name) {
    it->second = std::move(value);
  } else {
    changed->insert(it, {std::string(name), std::move(value)});
  }
  items_ = std::move(changed);
}

void Attributes::Erase(std::string_view name) {
  if (!Has(name)) return;
  auto changed = std::make_shared<Items>(items());
  std::erase_if(*changed, [&](const auto& item) { return item.first == name; });
  items_ = std::move(changed);
}

int64_t Attributes::Int(std::string_view name, int64_t fallback) const {
  return Get<int64_t>(Find(name), fallback);
}

double Attributes::Float(std::string_view name, double fallback) const {
  return Get<double>(Find(name), fallback);
}

std::string Attributes::Text(std::string_view name, std::string_view fallback) const {
  return Get<std::string>(Find(name), std::string(fallback));
}

std::vector<int64_t> Attributes::Ints(std::string_view name, std::vector<int64_t> fallback) const {
  return Get<std::vector<int64_t>>(Find(name), std::move(fallback));
}

std::vector<double> Attributes::Floats(std::string_view name) const {
  return Get<std::vector<double>>(Find(name), {});
}

std::vector<std::string> Attributes::Texts(std::string_view name) const {
  return Get<std::vector<std::string>>(Find(name), {});
}

std::shared_ptr<const Graph> Attributes::SubGraph(std::string_view name) const {
  return Get<std::shared_ptr<const Graph>>(Find(name), nullptr);
}

}  // namespace fettle::ir
